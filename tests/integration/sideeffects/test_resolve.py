"""What becomes of a repeat that declared something else, once a person has decided: for ever, once, and said so?"""

import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command

from sideeffects import policies, presenters, queries
from sideeffects.declarations import Declared
from sideeffects.models import Declaration, Effect, Group
from sideeffects.services import compare
from sideeffects.services.remove import Trigger
from sideeffects.services.resolve import AlreadyResolvedError, NothingToAdoptError, NotKeptError, resolve
from sideeffects.services.revoke import TargetsOutOfReachError, revoke
from sideeffects.transitions import EffectState, Operation, RevokeClass
from tests import external, factories
from tests.external import bodies
from tests.factories import NOW, contact, later, person, planner, report

pytestmark = [pytest.mark.django_db, pytest.mark.both]

ELEVEN = [contact(f"c_{number}") for number in range(11)]
TWELVE = [*ELEVEN, contact("c_11")]
DATA = Path(__file__).parents[2] / "data"
BESIDE = Path(__file__).parents[3].parent / "shared" / "real" / "airline-transcripts.jsonl"


@pytest.fixture
def conflict(settings):
    """Eleven declared, then twelve; the target is registered and is never called here."""
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    external.registered("http://127.0.0.1:9")
    factories.crm(by := planner())
    report(by, ELEVEN)
    return report(by, TWELVE, now=later(minutes=1)).conflict


def differing(effects, **more) -> Declaration:
    """Report a repeat that differs, and return the conflict."""
    conflict = report(planner(), effects, **more).conflict
    assert conflict is not None
    return conflict


def decided(conflict, action, reason="", *, by="alice", now=None):
    done = resolve(conflict=conflict.pk, action=action, reason=reason, by=person(by), now=now or later(minutes=2))
    conflict.refresh_from_db()
    return done


def revoked(group, by="alice", now=None, **more):
    moment = now or later(minutes=3)
    [result] = revoke(groups=[group.pk], by=person(by), now=moment, reason="", trigger=Trigger.CLICK, **more)
    return result.unwrap()


def undone(group):
    """Have every target say that what it was asked about is undone."""
    Effect.objects.filter(group=group, state=EffectState.REQUESTING).update(state=EffectState.COMPENSATED)


def view_of(group, by="alice"):
    [view] = presenters.views_of([Group.objects.get(pk=group.pk)], by=person(by))
    return view


def said(group):
    return [str(note) for note in view_of(group).notes]


# -- The three ways -----------------------------------------------------------------------------------------------


def test_what_is_adopted_joins_after_the_others_and_goes_with_them(conflict):
    assert decided(conflict, "adopt", "the log of the CRM shows it").already is False
    group = conflict.group
    members = list(group.effects.all())
    assert [one.object_id for one in members] == [f"c_{number}" for number in range(12)]
    assert (members[-1].revoke_class, members[-1].target.name) == (RevokeClass.EXTERNAL, "crm.example")
    assert said(group) == ["Declared 12, held 11; 1 adopted by alice"]
    [body] = bodies("conflict_resolved")
    assert (body["data"]["resolution"], body["data"]["authority"]) == ("adopt", "owner")
    assert [one["id"] for one in body["data"]["joined"]] == ["c_11"]
    assert ["contact", "c_11"] in body["subjects"]
    assert (body["data"]["complete"], body["data"]["conflict_open"]) == (False, False)
    answer = revoked(group)
    assert answer.counts == {"not sent": 12}
    undone(group)
    assert view_of(group).complete


def test_what_joins_a_group_taken_back_before_stands_until_a_second_revoke(conflict):
    group = conflict.group
    first = revoked(group)
    undone(group)
    assert (first.complete, view_of(group).complete) == (False, False), "a difference is open"
    decided(conflict, "adopt", now=later(minutes=5))
    view = view_of(group)
    assert str(view.state_words) == "Incomplete: 1 still standing"
    assert (view.complete, view.can_revoke) == (False, True)
    second = revoked(group, now=later(minutes=6))
    assert (second.already, second.counts) == (False, {"confirmed": 11, "not sent": 1})
    assert group.revocations.count() == 2
    undone(group)
    assert view_of(group).complete


def test_what_is_split_is_a_group_of_its_own_that_its_repeats_mean(conflict):
    new = decided(conflict, "split", "it ran twice").split_into
    group = conflict.group
    assert (group.effects.count(), new.effects.count()) == (11, 12)
    assert (new.generation, new.again_after_revoke, new.landed_at) == (1, False, later(minutes=1))
    assert said(group) == [f"Declared 12, held 11; the repeat stands in group {new.pk}, split by alice"]
    assert said(new) == [f"A repeat of group {group.pk}, split from it by alice"]
    by = planner()
    assert report(by, TWELVE, now=later(days=1)).group == new
    assert report(by, ELEVEN, now=later(days=1)).group == group
    assert Group.objects.count() == 2
    assert not queries.open_conflicts([group.pk, new.pk])
    [apart] = bodies("group_split")
    assert (apart["group"], apart["data"]["from_group"], len(apart["data"]["members"])) == (
        str(new.pk),
        str(group.pk),
        12,
    )
    assert revoked(new).counts == {"not sent": 12}
    assert view_of(group).standing == "standing"


def test_what_is_dismissed_leaves_the_group_as_it_is_and_never_asks_again(conflict):
    group = conflict.group
    revoked(group)
    undone(group)
    assert not view_of(group).complete
    decided(conflict, "dismiss", "the CRM has no such contact")
    assert view_of(group).complete
    assert said(group) == ["Declared 12, held 11; 1 dismissed by alice"]
    assert report(planner(), TWELVE, now=later(days=1)).result == "replayed"
    assert not queries.open_conflicts([group.pk])
    assert bodies("conflict_resolved")[0]["data"]["complete"] is True


# -- Who, and how often --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "action", "reason", "refusal"),
    [
        ("bob", "adopt", "x", policies.NotFoundError),
        ("auditor", "adopt", "x", policies.ReadOnlyError),
        ("admin", "adopt", " ", policies.ReasonRequiredError),
        ("alice", "dismiss", "\u200b", policies.ReasonRequiredError),
        ("planner", "dismiss", "x", policies.ForPersonsOnlyError),
    ],
)
def test_only_the_owner_and_an_admin_decide_and_say_why(conflict, who, action, reason, refusal):
    by = planner() if who == "planner" else person(who)
    with pytest.raises(refusal) as told:
        resolve(conflict=conflict.pk, action=action, reason=reason, by=by, now=NOW)
    assert who != "bob" or str(conflict.group_id) not in str(told.value)
    conflict.refresh_from_db()
    assert conflict.resolved_at is None


def test_one_decision_stands_and_the_next_is_told_which(conflict):
    decided(conflict, "dismiss", "no", by="admin")
    assert decided(conflict, "dismiss", "not at all").already
    with pytest.raises(AlreadyResolvedError) as told:
        decided(conflict, "adopt")
    assert (told.value.resolution, told.value.resolved_by) == ("dismiss", "user:admin")
    assert (conflict.resolved_reason, len(bodies("conflict_resolved"))) == ("no", 1)


# -- Odd differences -------------------------------------------------------------------------------------------------


def test_a_changed_member_takes_the_newer_version_or_joins_beside_the_held_one(conflict):
    def one(version="", operation=Operation.CREATE):
        return [Declared("contact", "v", operation, version=version)]

    by = planner()
    for number, (repeat, asked, wanted) in enumerate(
        [
            (one("2"), False, [("create", "2")]),
            (one("2"), True, [("create", "1"), ("create", "2")]),
            (one("1", Operation.DELETE), False, [("create", "1"), ("delete", "1")]),
        ]
    ):
        arguments = {"changed": number}
        group = report(by, one("1"), arguments=arguments).group
        assert group is not None
        changed = differing(repeat, arguments=arguments)
        if asked:
            revoked(group)
        decided(changed, "adopt")
        assert list(group.effects.values_list("operation", "version")) == wanted
        assert said(group) == ["Declared 1, held 1; 1 adopted by alice"]


def test_nothing_joins_where_the_repeat_declares_less(conflict):
    fewer = differing(ELEVEN[:5])
    with pytest.raises(NothingToAdoptError):
        decided(fewer, "adopt")
    decided(fewer, "dismiss", "it forgot some")
    assert said(fewer.group) == ["Declared 5, held 11; dismissed by alice"]


def test_what_is_adopted_is_not_declared_missing_by_others(conflict):
    by, thirteen = planner(), [*TWELVE, contact("c_12")]
    other = differing(thirteen)
    assert view_of(conflict.group).more_declared == 2, "c_11 counts once, though both declare it"
    decided(conflict, "adopt")
    other.refresh_from_db()
    assert [one["id"] for one in other.difference["only_second"]] == ["c_12"]
    assert view_of(conflict.group).more_declared == 1
    decided(other, "adopt")
    assert conflict.group.effects.count() == 13
    assert report(by, [thirteen[0], *reversed(thirteen[1:])]).result == "replayed"


def test_a_declaration_that_says_all_that_is_held_by_now_is_no_difference(conflict):
    other = differing([*ELEVEN, contact("d")])
    both = differing([*TWELVE, contact("d")])
    decided(conflict, "adopt")
    decided(other, "adopt")
    both.refresh_from_db()
    assert (both.resolution, both.resolved_by) == ("adopt", "user:alice"), "it agrees with what is held by now"
    assert len(bodies("conflict_resolved")) == 3
    assert not queries.open_conflicts([both.group_id])


def test_what_was_counted_and_not_kept_is_never_complete_in_silence(conflict, monkeypatch):
    monkeypatch.setattr(compare, "MOST_CONFLICTS", 1)
    group = conflict.group
    for key in ("x", "y"):
        assert differing([contact(key)])._state.adding
    decided(conflict, "dismiss", "no")
    [uncounted] = Declaration.objects.filter(resolved_at=None, held=False)
    for action in ("adopt", "split"):
        with pytest.raises(NotKeptError):
            decided(uncounted, action)
    revoked(group)
    undone(group)
    assert not view_of(group).complete
    assert str(view_of(group).state_words) == "Incomplete: a retry declared something else"
    decided(uncounted, "dismiss", "a test of the agent")
    assert view_of(group).complete
    assert "2 differing declarations were counted and not kept; dismissed by alice" in said(group)


def test_what_comes_again_is_kept_as_soon_as_there_is_room(conflict, monkeypatch):
    monkeypatch.setattr(compare, "MOST_CONFLICTS", 1)
    by = planner()
    assert not report(by, [contact("x")]).created
    decided(conflict, "dismiss", "no")
    decided(Declaration.objects.get(kept=False), "dismiss", "unknown")
    assert report(by, [contact("x")]).created
    assert not report(by, [contact("y")]).created
    assert Declaration.objects.filter(kept=False).values_list("seen", "resolution").order_by("id")[1] == (1, "")


# -- The booking that was made twice ---------------------------------------------------------------------------------


def _imported(tmp_path):
    """Import airline-000-3, or where that is not at hand the conversation of ours that was modelled on it."""
    source, name = (BESIDE, "airline-000-3") if BESIDE.exists() else (DATA / "airline-transcript.jsonl", "")
    lines = [line for line in source.read_text().splitlines() if json.loads(line)["conversation"] == name or not name]
    (file := tmp_path / "talk.jsonl").write_text("\n".join(lines) + "\n")
    call_command(
        "import_transcript",
        str(file),
        tools=str(DATA / "airline-tools.toml"),
        owner="alice",
        json=True,
        stdout=io.StringIO(),
        stderr=io.StringIO(),
    )
    return Declaration.objects.get(held=False)


@pytest.mark.parametrize("action", ["adopt", "split", "dismiss"])
def test_the_booking_that_was_made_twice_is_decided_about(tmp_path, settings, action):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    factories.user("alice")
    conflict = _imported(tmp_path)
    group, declared = conflict.group, [one["id"] for one in conflict.effects]
    held = [one.object_id for one in group.effects.all()]
    assert (len(held), len(declared)) == (1, 1)
    done = decided(conflict, action, "looked it up at the airline")
    assert said(group)[0].startswith("Declared 1, held 1; ")
    with pytest.raises(TargetsOutOfReachError):
        revoked(group)  # an admin has to register the airline first
    external.registered("http://127.0.0.1:9/api", name="airline")
    answer = revoked(group, now=later(minutes=9), leave_later=True)  # the agent cancelled one of them later
    counted = {"adopt": held + declared, "split": held, "dismiss": held}[action]
    assert [one.effect.object_id for one in answer.members] == counted
    undone(group)
    assert view_of(group).complete
    if action == "split":
        assert [one.object_id for one in done.split_into.effects.all()] == declared
        assert view_of(done.split_into).standing == "standing"
        assert revoked(done.split_into, now=later(minutes=10)).counts == {"not sent": 1}
    assert len(bodies("conflict_resolved")) == 1
    before = Effect.objects.count(), Group.objects.count()
    _imported(tmp_path)
    assert (Effect.objects.count(), Group.objects.count()) == before, "importing again adds nothing"
