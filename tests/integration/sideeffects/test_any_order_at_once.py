"""When twenty of those moves happen at one moment: no lost update, one winner each, every claim true, never a fault?"""

import random
from collections import Counter
from typing import Any

import pytest

from audit import log
from audit.models import Record
from audit.verify import verify
from config.errors import TABLE
from sideeffects import presenters, queries
from sideeffects.models import Declaration, Effect, Fence, Group, Revocation
from sideeffects.services.record import Status
from sideeffects.targets.registry import adapter_for
from sideeffects.workspace.models import Note
from tests import external, factories, oracle
from tests.factories import person, planner
from tests.machine import TOOL
from tests.watched import TARGET

pytestmark = pytest.mark.django_db(transaction=True)
REFUSED = {cls.__name__ for cls in TABLE}  # what both faces answer in words; anything else is a 500
WENT = {"revoked", "not sent", "restored", "already", "recorded", "replayed", "conflict", "landed", "lost", "failed"}
SAID = WENT | {"adopt", "split", "dismiss", "fenced", "lifted", "fired 0", "fired 1", "edited 1", "conflict new"}


@pytest.fixture
def by(settings):
    settings.TARGET_HOSTS = frozenset({TARGET})
    agent = planner()
    external.contact("z", by=agent)
    external.registered(f"http://{TARGET}/")
    return agent


def staged(by, number):
    """Have a note, a project, a call in flight and a call that was declared twice."""
    call: dict[str, Any] = {"tool": TOOL, "arguments": {"n": number}, "conversation": f"c{number}"}
    note = factories.run(by, "note.create", {"title": f"Note {number}"}).group
    project = factories.project(by, name=f"Project {number}", tasks=2)
    twice = factories.report(by, [factories.contact("a")], **call).group
    conflict = factories.report(by, [factories.contact(key) for key in "ab"], **call).conflict
    call["arguments"] = {"open": number}
    flying = factories.report(by, [], status=Status.IN_FLIGHT, **call).group
    rows: tuple[Any, ...] = (note, project, twice, flying, conflict)
    return [str(row.pk) for row in rows]


def moves(by, note, project, twice, flying, conflict, *, number):
    """Return twenty moves about them."""
    token, groups = {"token": str(by.token.pk)}, [note, project, twice, flying]
    row = str(Note.objects.latest("pk").pk)
    return [
        *(["revoke", {"groups": order}] for order in (groups, groups[::-1], [note, twice], [twice, note])),
        *(["restore", {"groups": order}] for order in ([note, project], [project, note])),
        *(["land", {**token, "group": flying, "ids": ids, "how": "land"}] for ids in (["a"], ["a", "b"])),
        *(["land", {**token, "group": flying, "ids": [], "how": how}] for how in ("lose", "fail")),
        ["decide", {"conflict": conflict, "how": "adopt", "who": "alice"}],
        ["decide", {"conflict": conflict, "how": "split", "who": "admin"}],
        ["decide", {"conflict": conflict, "how": "dismiss", "who": "alice"}],
        *(["fence", {"group": flying, "lifts": lifts}] for lifts in (False, False, True)),
        ["fire", {}],
        ["edit", {"note": row, "text": "by hand"}],
        *(
            [
                "execute",
                {**token, "tool": "note.update", "arguments": {"note": row, "title": said}, "key": f"{said}{number}"},
            ]
            for said in ("one", "two")
        ),
    ]


def one_round(four, by, chance, number):
    conflict = (staged_ := staged(by, number))[-1]
    before, began = oracle.claims(), oracle.last_record()
    world = oracle.world()
    tasks = moves(by, *staged_, number=number)
    assert len(tasks) >= 20
    chance.shuffle(tasks)
    told = Counter(word for said in four.all_at_once(*tasks) for word in said.split(", "))
    assert told.keys() <= SAID | REFUSED, told
    logged = oracle.logged_since(began)
    edited = {("note", str(Note.objects.latest("pk").pk))}
    assert oracle.changed(world, oracle.world()) <= logged.objects | edited
    assert {oracle.group_of(one) for one in oracle.changed(before, oracle.claims())} <= logged.groups
    row = Declaration.objects.get(pk=conflict)
    assert told["adopt"] + told["split"] + told["dismiss"] == 1
    assert told[row.resolution] == 1
    return told


def check_all(told):
    """Hold what everyone was told, and what is shown now, against the tables."""
    fired = Fence.objects.filter(result="fired").count()
    assert Revocation.objects.count() == told["revoked"] + told["not sent"] + fired
    assert Record.objects.filter(action="restored").count() == told["restored"]
    for group in Group.objects.filter(state="landed"):
        assert group.declarations.filter(held=True).count() == 1
    for name in ("alice", "admin"):
        for rows in queries.rows_of(list(Group.objects.select_related("owner"))):
            [truth] = oracle.truths({str(rows.group.pk)}).values()
            oracle.check_view(presenters.GroupView(rows, person(name)), truth)
    assert set(Note.objects.values_list("body", flat=True)) == {"by hand"}  # whatever else went on, this was not undone
    changes = Effect.objects.filter(type="note", operation="update")
    kept = adapter_for("note").contents(changes.values_list("version_after", flat=True))
    assert len(kept) == len(changes)
    assert {said["title"] for said in kept.values()} <= {"one", "two"}
    log.seal()
    assert verify().verdict == "consistent"


def test_twenty_moves_at_one_moment(four, by):
    chance, told = random.Random(4711), Counter[str]()
    for number in range(2):
        told += one_round(four, by, chance, number)
    check_all(told)


@pytest.mark.soak
def test_a_thousand_moves_twenty_at_a_time(four, by):
    chance, told = random.Random(), Counter[str]()
    for number in range(50):
        told += one_round(four, by, chance, number)
    check_all(told)
