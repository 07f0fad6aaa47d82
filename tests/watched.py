"""What has to be so after every move of the property test, whatever the move was: the machine without its moves."""

import html
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.test import Client
from django.urls import reverse
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from audit import log
from audit.verify import verify
from sideeffects import presenters, queries
from sideeffects.models import Group
from sideeffects.services import execute
from tests import external, oracle
from tests.factories import NOW, person, planner

TARGET = "127.0.0.1:9"  # nobody is called: the moves draw what it answers
PAGES = 1  # of groups that are opened at the end of each example


class Watched(RuleBasedStateMachine):
    """Alice, bob, an admin, an auditor and two agents, over one database that forgets everything at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic._from_testcase = True  # type: ignore[attr-defined]  # (Django's own mark, so that the log may be read)
        self.atomic.__enter__()
        self.now = NOW
        self.look_at: set[str] = set()  # the groups that the last move was about
        self.removed: dict[Any, dict[oracle.Key, Any]] = {}  # what each revocation took away, as it was before
        self.hands: dict[oracle.Key, tuple[datetime, str, str]] = {}  # what was last written into a row by hand
        self.touched: dict[Any, set[oracle.Key]] = {}  # and what happened to it since, otherwise than by a restore

    @initialize()
    def begin(self) -> None:
        """Have people, agents with their owners, and a target that is registered."""
        self.who: dict[str, Any] = {name: person(name) for name in ("alice", "bob", "admin", "auditor")}
        self.who |= {"agent": planner(), "scribe": planner(owner="bob", agent="scribe")}
        external.contact("z", by=self.who["agent"], status="/contacts/{id}")
        external.registered(f"http://{TARGET}/")
        self.settled()

    def settled(self, *, keep: int | None = None) -> None:
        """Remember how everything is, to see what the next move changes; `keep` the record that it began from."""
        self.world, self.claims = oracle.world(), oracle.claims()
        self.record = oracle.last_record() if keep is None else keep

    def tick(self) -> None:
        """Let a minute pass."""
        self.now += timedelta(minutes=1)

    def moved(self, act: Callable[[], Any], *refusals: type[Exception]) -> Any:
        """Make a move; whatever row it changes has to stand on the log, and a refusal changes nothing at all."""
        self.tick()
        try:
            came = act()
        except refusals as error:
            came = error
        before = self.world, self.claims
        self.settled(keep=self.record)
        rows, claimed = oracle.changed(before[0], self.world), oracle.changed(before[1], self.claims)
        logged = oracle.logged_since(self.record)
        assert rows <= logged.objects, (rows, logged)
        assert {oracle.group_of(one) for one in claimed} <= logged.groups, (claimed, logged)
        if isinstance(came, Exception) and not isinstance(came, execute.ToolFailedError):
            assert not rows, came
            assert not claimed, came
        for touched in self.touched.values():
            touched.update(rows)
        self.record, self.look_at = oracle.last_record(), {oracle.group_of(one) for one in claimed} | logged.groups
        return came

    def group(self, which: int) -> Group:
        """Return one of the groups there are."""
        rows = list(Group.objects.order_by("-pk"))  # small numbers are drawn most often: what is new is looked at most
        return rows[which % len(rows)]

    def one_of(self, model: Any, which: int) -> Any:
        """Return one of the rows there are."""
        rows = list(model.objects.order_by("-pk"))
        return rows[which % len(rows)]

    # -- What has to be so at every moment --------------------------------------------------------------------------

    @invariant()
    def every_claim_is_what_the_tables_say(self) -> None:
        """See the groups that the last move was about as each person sees them."""
        self.check_claims(oracle.truths(self.look_at))

    def check_claims(self, found: dict[Any, oracle.Truth]) -> None:
        """Hold what is said of groups, and what is offered, against the tables."""
        for rows in queries.rows_of([one.group for one in found.values()]):
            for name in ("alice", "admin", "bob"):
                oracle.check_view(presenters.GroupView(rows, self.who[name]), found[rows.group.pk])
        for truth in found.values():
            if truth.complete:
                self.check_undone(truth)

    def check_undone(self, truth: oracle.Truth) -> None:
        """Hold *complete* to the rows themselves, not to what this app's tables say of them."""
        for one in truth.members:
            key = (one.type, one.object_id)
            if one.revoke_class != "local_compensate":
                continue
            if one.operation == "create":
                assert oracle.gone(self.world, key), (truth.group.tool, key)
            elif key not in self.touched[one.revocation_id] and one.operation == "delete":
                assert not oracle.gone(self.world, key), (truth.group.tool, key)

    def check_pages(self, truth: oracle.Truth) -> None:
        """Hold the page itself, and what the API answers, against the tables: words, numbers and buttons."""
        for name in ("alice", "admin", "bob"):
            by, key = self.who[name], truth.group.pk
            owner, client = by.owns(truth.group.owner_id), Client()
            client.force_login(by.user, backend="django.contrib.auth.backends.ModelBackend")
            page, told = client.get(reverse("group", args=[key])), client.get(f"/api/v1/groups/{key}")
            if not (owner or by.is_admin):
                assert (page.status_code, told.status_code) == (404, 404)
                continue
            said, body = html.unescape(page.content.decode()), told.json()
            assert (body["complete"], body["declared"]) == (truth.complete, len(truth.members))
            oracle.check_words(body["words"], truth)
            assert page.status_code == 200
            assert body["words"] in said
            assert f"{len(truth.members)} declared" in said
            for verb, can in (("revoke", truth.can_revoke), ("restore", truth.can_restore)):
                shown = can(owner=owner, admin=by.is_admin)
                assert (f'href="{reverse(f"group-{verb}", args=[key])}"' in said) is shown, (verb, body["words"])
                assert body[f"can_{verb}"] is shown

    def teardown(self) -> None:
        """See that the log verifies, and forget everything."""
        try:
            found = oracle.truths()
            self.check_claims(found)
            for truth in list(found.values())[-PAGES:]:
                self.check_pages(truth)
            log.seal()
            assert verify().verdict in {"consistent", "cannot tell"}
        finally:
            transaction.set_rollback(True)
            self.atomic.__exit__(None, None, None)
