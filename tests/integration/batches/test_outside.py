"""Do effects that only targets can undo become requests, counted by where they stand now?"""

import pytest

from sideeffects import batches
from sideeffects.batches import Scope
from sideeffects.models import Effect, Request, Target
from sideeffects.services import batch
from sideeffects.tools import REGISTRY, Contract, RegisteredTool, Written
from sideeffects.transitions import RevokeClass
from sideeffects.workspace.tools import create_note
from tests import factories
from tests.batching import START, fates, note, started, told, worked
from tests.external import bodies, contact, registered
from tests.factories import later, person, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]
SHOP = Contract(
    revoke_class=RevokeClass.EXTERNAL, target="crm.example", compensations={"create": "DELETE /contacts/{id}"}
)


@pytest.fixture(autouse=True)
def _excepted(settings):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})


def mixed(by, monkeypatch):
    """Have a tool make a note here that was given the id of a contact there."""

    def make(arguments, call):
        return [*create_note({"title": "x", "body": ""}, call), Written(type="contact", id="c_9", external=True)]

    monkeypatch.setitem(REGISTRY, "note.and_contact", RegisteredTool("note.and_contact", SHOP, None, make))
    return factories.run(by, "note.and_contact", {}, now=later(seconds=30)).group


def stands(group, **effect):
    Effect.objects.filter(group=group, revoke_class="governed_external").update(**effect)


def test_one_bucket_an_outcome_as_it_stands_now(monkeypatch):
    by, alice = planner(), person("alice")
    registered("http://127.0.0.1:9")
    local, both = note(by, 1), mixed(by, monkeypatch)
    asked = [contact(f"c_{number}", by=by) for number in range(3)]
    contact("x", by=by, target="erp.example")
    factories.report(by, [factories.contact("m", type_="message")], tool="email.send")
    seen = batches.preview(scope=Scope(conversation="c1"), by=alice, now=START)
    assert seen.by_class == {
        "here": 2,
        "asked": {"crm.example": 4},
        "out of reach": {"erp.example": 1},
        "not revocable": 1,
    }
    row = worked(started())
    assert told(row).groups == {"revoked": 1, "not sent": 4, "not revocable": 1, "skipped": 1}
    assert told(row).effects == {"revoked": 2, "not sent": 4, "not revocable": 1, "skipped": 1}
    assert (told(row).asked_outside, told(row).restorable, told(row).failed) == (4, 2, 1)
    assert batches.items(row, "skipped").get().refusal == "targets-out-of-reach"
    assert batches.items(row).get(group=both).detail == "1 revoked, 1 not sent"
    Request.objects.filter(effect__group=asked[0]).update(sent_at=later(hours=2))
    stands(asked[1], state="compensated")
    stands(asked[2], state="refused")
    stands(both, state="compensating")
    assert told(row).groups == {
        "revoked": 1,
        "requested": 1,
        "confirmed": 1,
        "refused": 1,
        "unknown": 1,
        "not revocable": 1,
        "skipped": 1,
    }
    undoing = worked(batch.restore(batch=row.pk, by=alice, now=later(hours=3), reason=""), now=later(hours=4))
    assert {item.group for item in batches.items(undoing)} == {local, both}
    assert told(undoing).groups == {"restored": 2}
    assert (told(undoing).effects, told(undoing).asked_outside) == ({"restored": 2}, 1)
    assert batches.items(undoing).get(group=both).detail == "1 stays with its target"
    assert told(row).effects["restored"] == 2
    assert {body["data"]["batch"] for body in bodies("COMPENSATE")} == {str(row.pk)}


def test_a_target_that_may_be_asked_by_now_is_asked_when_it_is_tried_again(monkeypatch):
    by, alice = planner(), person("alice")
    both, alone = mixed(by, monkeypatch), contact(by=by)
    row = worked(started())
    assert fates(row) == ["skipped", "skipped"]
    part = batches.items(row).get(group=both)
    assert (part.refusal, part.detail.split(": ")) == (
        "not-asked",
        ["1 revoked, 1 not attempted", "no admin has registered crm.example yet"],
    )
    assert told(row).effects == {"revoked": 1, "skipped": 2}
    assert (told(row).failed, told(row).restorable) == (2, 1)
    registered("http://127.0.0.1:9")
    assert Target.objects.get().is_askable
    row = batch.retry(batch=row.pk, by=alice, now=later(hours=3))
    assert told(row).effects == {"revoked": 1, "not attempted": 2}
    worked(row, now=later(hours=4))
    assert told(row).groups == {"not sent": 2}
    assert (told(row).failed, told(row).restorable) == (0, 1)
    assert Request.objects.filter(effect__group__in=[both, alone]).count() == 2
    undoing = worked(batch.restore(batch=row.pk, by=alice, now=later(hours=5), reason=""), now=later(hours=6))
    assert (fates(undoing), undoing.effects) == (["restored"], 1)
