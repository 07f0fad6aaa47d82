"""What do the tests of batches share? Notes an agent wrote, a batch of them, its work, and what is told of it."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sideeffects import batches
from sideeffects.actors import Actor
from sideeffects.batches import Scope
from sideeffects.models import Batch, Group
from sideeffects.services import batch
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import revoke
from tests import factories
from tests.external import WORKER
from tests.factories import NOW, later, person

START, WORK = later(hours=1), later(hours=2)


def notes(by: Actor, number: int, *, start: int = 0, **call: Any) -> list[Group]:
    """Let an agent write so many notes, one an action, a second after each other from `start` on."""
    return [note(by, one, **call) for one in range(start, start + number)]


def note(by: Actor, at: int, **call: Any) -> Group:
    """Let an agent write a note so many seconds after NOW."""
    group = factories.run(by, "note.create", {"title": f"n{at}", "body": ""}, now=later(seconds=at), **call).group
    assert group is not None
    return group


def retitled(by: Actor, group: Group, at: int, **call: Any) -> Group:
    """Let an agent change a note that it wrote."""
    change = {"note": group.effects.get().object_id, "title": f"changed {at}"}
    later_ = factories.run(by, "note.update", change, now=later(seconds=at), **call).group
    assert later_ is not None
    return later_


def started(scope: Scope | None = None, *, by: Actor | None = None, now: datetime = START, **more: Any) -> Batch:
    """Start a batch, of conversation c1 and by alice unless told otherwise."""
    asked: dict[str, Any] = {"reason": "", "via": "click", **more}
    return batch.start(scope=scope or Scope(conversation="c1"), by=by or person("alice"), now=now, **asked)


def worked(row: Batch, *, now: datetime = WORK) -> Batch:
    """Work everything that is at work, a moment a chunk, and return the batch as it is then."""
    ticks = iter(range(1_000_000))
    batch.work(by=WORKER, clock=lambda: now + timedelta(milliseconds=next(ticks)))
    row.refresh_from_db()
    return row


def steer(verb: Callable[..., Batch], row: Batch, *, by: Actor | None = None, reason: str = "") -> Batch:
    """Do one thing about a batch two hours after its start, as alice unless told otherwise."""
    return verb(batch=row.pk, by=by or person("alice"), now=later(hours=3), reason=reason)


def told(row: Batch) -> batches.Totals:
    """Return the totals, which add up."""
    row.refresh_from_db()
    found = batches.totals(row, now=NOW)
    assert sum(found.groups.values()) == row.groups
    assert sum(found.effects.values()) == row.effects
    assert found.done + found.waiting == row.groups
    return found


def fates(row: Batch) -> list[str]:
    """Return what became of each action, in the order of their turns."""
    return [item.outcome for item in batches.items(row)]


def revoked(groups: Sequence[Group], *, now: datetime) -> None:
    """Have alice take actions back, one by one, apart from any batch."""
    for group in groups:
        [result] = revoke(groups=[group.pk], by=person("alice"), now=now, reason="", trigger=Trigger.CLICK)
        result.unwrap()
