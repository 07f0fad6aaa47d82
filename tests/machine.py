"""What may happen to what agents did, in any order and by whom? Moves of the property test, each held to its word."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from itertools import cycle
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from sideeffects import actors, presenters
from sideeffects.models import Declaration, Effect, Fence, Group, Revocation
from sideeffects.policies import REFUSALS, ForPersonsOnlyError, NotFoundError, ReadOnlyError
from sideeffects.services import carry_out, claim, execute, land, resolve, settle, since
from sideeffects.services import fence as fences
from sideeffects.services.answers import Result
from sideeffects.services.record import Status
from sideeffects.services.remove import Trigger
from sideeffects.services.restore import restore
from sideeffects.services.revoke import revoke
from sideeffects.targets.answers import Kind
from sideeffects.targets.http import Came
from sideeffects.transitions import TransitionError
from sideeffects.workspace.models import Note, Project, Task
from tests import factories, oracle
from tests.external import WORKER
from tests.watched import Watched

TOOL = "crm.example.create_contact"
UNDECIDED = (resolve.AlreadyResolvedError, resolve.NothingToAdoptError, resolve.NotKeptError)
some = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5, 8])  # which of those there are, counted from the newest
objects = st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True)
words = st.sampled_from(["one", "two", "three"])
people = st.sampled_from(["alice", "alice", "alice", "admin", "admin", "bob", "auditor", "agent"])
answers = st.sampled_from([202, 404, 202, 404, 409, 500, 0])  # accepted, then gone: undone by the target's word


class AnyOrder(Watched):
    """The moves of agents, people, targets and the clock."""

    # -- What agents do -------------------------------------------------------------------------------------------

    @rule(name=words, tasks=st.integers(-1, 2), agent=st.sampled_from(["agent", "scribe"]))
    def create(self, name: str, tasks: int, agent: str) -> None:
        """Have rows written here, or a note; said again it is a replay, and after a revoke it is refused."""
        arguments = {"name": name, "tasks": ["task"] * tasks} if tasks >= 0 else {"title": name}
        tool = "project.create" if tasks >= 0 else "note.create"
        self.moved(partial(self.run, agent, tool, arguments), execute.RevokedBeforeError)

    @rule(which=some, title=words, how=st.sampled_from(["note.update", "note.delete", "task.update", "task.create"]))
    def change(self, which: int, title: str, how: str) -> None:
        """Have an agent change, delete or extend what is there."""
        model: Any = Project if how == "task.create" else oracle.BUSINESS[how.partition(".")[0]]
        if not model.objects.exists():
            return
        key = str(self.one_of(model, which).pk)
        arguments: Any = {
            "note.update": {"note": key, "title": title},
            "note.delete": {"notes": [key]},
            "task.update": {"task": key, "title": title},
            "task.create": {"project": key, "title": title},
        }[how]
        self.moved(partial(self.run, "agent", how, arguments, key=f"{self.now}"), execute.ToolFailedError)

    @rule(ids=objects, call=st.integers(1, 2), status=st.sampled_from([*[Status.LANDED] * 3, Status.IN_FLIGHT]))
    def report(self, ids: list[str], call: int, status: Status) -> None:
        """Report a call; a second time with others is a conflict, or done again where it was revoked."""
        effects = [factories.contact(key) for key in ids] if status is Status.LANDED else []
        self.moved(
            partial(
                factories.report,
                self.who["agent"],
                effects,
                tool=TOOL,
                arguments={"n": call},
                status=status,
                now=self.now,
            )
        )

    @rule(which=some, ids=objects, how=st.sampled_from(["land", "land", "lose", "fail"]))
    def end(self, which: int, ids: list[str], how: str) -> None:
        """Land a call, or say that it failed or was lost, whatever it is by now."""
        group, by = self.group(which), self.who["agent"]
        if how == "land":
            act = partial(land.land, effects=[factories.contact(key) for key in ids])
        else:
            act = partial(getattr(land, how), reason="said so")
        self.moved(
            lambda: act(group=group.pk, by=by, now=self.now), NotFoundError, land.NotReportedError, TransitionError
        )

    def run(self, agent: str, tool: str, arguments: dict[str, Any], key: str = "") -> Any:
        """Execute a tool."""
        return factories.run(self.who[agent], tool, dict(arguments), now=self.now, idempotency_key=key)

    # -- What people do -------------------------------------------------------------------------------------------

    @rule(
        model=st.sampled_from([Note, Task, Project]),
        which=some,
        how=st.sampled_from(["edit", "edit", "delete", "give"]),
    )
    def by_hand(self, model: Any, which: int, how: str) -> None:
        """Have someone edit, delete or give away a row elsewhere; the console knows nothing of it."""
        if not model.objects.exists():
            return
        self.tick()
        row, text = self.one_of(model, which), "name" if model is Project else "title"
        key, said = (model._meta.model_name, str(row.pk)), f"edited {self.now}"
        values: Any = {
            "edit": {text: said},
            "delete": {"deleted_at": row.deleted_at or self.now, "deleted_by": row.deleted_by or "user:alice"},
            "give": {"owner": self.who["bob"].user},
        }[how]
        model.objects.filter(pk=row.pk).update(**values)
        if how == "edit":
            self.hands[key] = (self.now, text, said)
        self.look_at = set()
        for touched in self.touched.values():
            touched.add(key)
        self.settled()

    @rule(which=some, name=people, knows=st.booleans())
    def revoke(self, which: int, name: str, knows: bool) -> None:  # noqa: FBT001  (drawn)
        """Have someone ask for a group, at first not knowing what happened since, and hold the answer to the rows."""
        group, by = self.group(which), self.who[name]
        [view] = presenters.views_of([group], by=by)
        ask = partial(revoke, groups=[group.pk], by=by, reason="Asked for", trigger=Trigger.CLICK)
        [result] = self.taken_back(group, ask, offered=view.can_revoke)
        self.check_who(result, group, name)
        if knows and isinstance(result.refusal, since.DependedOnError):
            [result] = self.taken_back(group, ask := partial(ask, leave_later=True), offered=view.can_revoke)
        if knows and isinstance(result.refusal, since.EditedSinceError):
            ask = partial(ask, overrides={group.pk: result.refusal.seen})
            self.taken_back(group, ask, offered=view.can_revoke, overrides=True)

    def taken_back(
        self, group: Group, ask: Callable[..., list[Result]], *, offered: bool, overrides: bool = False
    ) -> list[Result]:
        """Ask once; what a person wrote goes only where that was seen, and nothing but the group's own rows changes."""
        before, claims, carried = self.world, self.claims, self.carried(group)
        known = set(group.revocations.values_list("pk", flat=True))
        results: list[Result] = self.moved(lambda: ask(now=self.now))
        if results[0].answer is None:
            assert (before, claims) == (self.world, self.claims)
            return results
        assert results[0].answer.already is not offered
        members = list(Effect.objects.filter(group=group))
        assert oracle.changed(before, self.world) <= oracle.objects_of(members)
        for row in Revocation.objects.filter(group=group).exclude(pk__in=known):
            mine = oracle.objects_of(one for one in members if one.revocation_id == row.pk)
            assert overrides or not mine & carried, "a hand's work went unseen"
            self.removed[row.pk] = {key: before[key] for key in mine}
            self.touched[row.pk] = set()
        return results

    def carried(self, group: Group) -> set[oracle.Key]:
        """Return the standing rows of a group that say what someone wrote by hand after it."""
        return {
            key
            for key in oracle.objects_of(group.effects.all())
            if key in self.hands
            and not oracle.gone(self.world, key)
            and self.hands[key][0] > (group.landed_at or self.now)
            and self.world[key][self.hands[key][1]] == self.hands[key][2]
        }

    @rule(which=some, name=people)
    def restore(self, which: int, name: str) -> None:
        """Have someone change their mind, and see the rows come back as they were."""
        group = self.group(which)
        lying = {row.pk: row.revocation_id for row in Effect.objects.filter(group=group, state="revoked")}
        before, claims = self.world, self.claims
        ask = partial(restore, groups=[group.pk], by=self.who[name], reason="Changed my mind")
        touched = {key: set(keys) for key, keys in self.touched.items()}
        [result] = self.moved(lambda: ask(now=self.now))
        self.check_who(result, group, name)
        if result.answer is None or result.answer.already:
            assert (before, claims) == (self.world, self.claims)
            return
        for effect in Effect.objects.filter(pk__in=lying, state="active"):
            key, by = (effect.type, effect.object_id), lying[effect.pk]
            if key not in touched[by]:
                assert oracle.as_seen(self.world[key]) == oracle.as_seen(self.removed[by][key])

    @rule(which=some, how=st.sampled_from(["adopt", "split", "dismiss"]), name=people)
    def decide(self, which: int, how: str, name: str) -> None:
        """Have someone decide about a difference; nothing is taken back or brought back by that."""
        rows = list(Declaration.objects.filter(held=False).order_by("pk"))
        if not rows:
            return
        row, by = rows[which % len(rows)], self.who[name]
        states = dict(Effect.objects.values_list("pk", "state"))
        decided = partial(resolve.resolve, conflict=row.pk, action=how, reason="Looked it up", by=by)
        came = self.moved(lambda: decided(now=self.now), *REFUSALS, *UNDECIDED)
        assert states.items() <= dict(Effect.objects.values_list("pk", "state")).items()
        if name in {"bob", "auditor", "agent"}:
            assert isinstance(came, REFUSALS)
        elif not isinstance(came, Exception):
            row.refresh_from_db()
            assert (row.resolution, row.resolved_at is not None) == (how, True)

    @rule(which=some, name=people, lifts=st.booleans())
    def fence(self, which: int, name: str, lifts: bool) -> None:  # noqa: FBT001  (drawn)
        """Have someone fence a call in flight, or lift its fence."""
        group, verb = self.group(which), fences.lift if lifts else fences.put
        act = partial(verb, group=group.pk, reason="Not wanted", by=self.who[name])
        came = self.moved(lambda: act(now=self.now), *REFUSALS, fences.NotInFlightError, fences.FenceEndedError)
        if name == "auditor" or (name == "bob" and group.owner_id != self.who["bob"].user.pk):
            assert isinstance(came, REFUSALS)

    @rule()
    def fences_fire(self) -> None:
        """Let the sweep come by: of a call that has arrived no fence waits any more."""
        self.moved(lambda: fences.fire(by=actors.system("beat"), now=self.now))
        assert not Fence.objects.filter(lifted_at=None, ended_at=None, group__state__in=("landed", "failed")).exists()

    @rule(which=some, ids=objects, number=st.integers(1, 2))
    def all_the_way(self, which: int, ids: list[str], number: int) -> None:
        """Take back to the end what a target holds, and hear of a retry before or after that."""
        group = self.group(which)
        steps: list[Callable[[], object]] = [
            partial(self.revoke, which, "alice", knows=True),
            partial(self.targets_answer, [202]),
            partial(self.targets_answer, [404]),
        ]
        if group.source == Group.Source.REPORTED and group.state == "landed":
            effects = [factories.contact(key) for key in ids]
            again = partial(land.land, group=group.pk, effects=effects, by=self.who["agent"])
            steps.insert(number, lambda: self.moved(lambda: again(now=self.now), NotFoundError))
        for step in steps:
            step()
            self.every_claim_is_what_the_tables_say()

    def check_who(self, result: Result, group: Group, name: str) -> None:
        """Hold a refusal to who asked: strangers find nothing there, an auditor reads, an agent does not restore."""
        if name == "bob" and group.owner_id != self.who["bob"].user.pk:
            assert isinstance(result.refusal, NotFoundError)
        if name == "auditor":
            assert isinstance(result.refusal, ReadOnlyError)
        if name == "agent" and group.owner_id != self.who["alice"].user.pk:
            assert isinstance(result.refusal, NotFoundError | ForPersonsOnlyError)

    @rule(statuses=st.lists(answers, min_size=1, max_size=3))
    def targets_answer(self, statuses: Sequence[int]) -> None:
        """Carry out what is due, and have the target answer as drawn; 0 is no answer."""

        self.now += timedelta(hours=1)  # so that everything is due

        def carried() -> None:
            due = claim.claim(room=20, by=WORKER, now=self.now)
            came = [
                Came(kind=Kind.ANSWERED if status else Kind.NO_ANSWER, status=status)
                for status, _ in zip(cycle(statuses), due, strict=False)
            ]
            heard = [carry_out.understood(one, said, now=self.now) for one, said in zip(due, came, strict=True)]
            settle.settle(called=heard, by=WORKER, now=self.now)

        self.moved(carried)
