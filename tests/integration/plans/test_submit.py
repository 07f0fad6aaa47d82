"""Are plans kept with exact bytes and verdict, accepted or refused, and each on the log?"""

import base64
import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, transaction

from audit import log
from audit.models import Record
from plans import examples, queries
from plans.core import artifact, canonical
from plans.models import AgentKey, PlanSubmission
from plans.services import keys
from plans.services.submit import PlanTooLargeError, submit
from sideeffects import actors
from sideeffects.policies import ForPersonsOnlyError, NotFoundError, ScopeMissingError
from tests import factories
from tests.factories import NOW, later, person, planner
from tests.unit.plans.samples import fixture

pytestmark = pytest.mark.django_db


def body(name: str = "sound") -> bytes:
    return json.dumps(fixture(name), indent=3).encode()


def last_record() -> dict[str, Any]:
    row = Record.objects.order_by("-pk").first()
    assert row is not None
    found: dict[str, Any] = json.loads(row.body)
    return found


@pytest.mark.both
def test_an_accepted_plan_is_kept_byte_for_byte_and_on_the_log():
    row, new = submit(body=body(), by=planner(), now=NOW)
    row.refresh_from_db()
    assert (new, row.accepted, bytes(row.body)) == (True, True, body())
    assert row.body_sha256 == hashlib.sha256(body()).hexdigest()
    assert row.digest == canonical.digest(fixture("sound"))
    assert (row.owner.username, str(row.agent), row.saga, row.version) == ("alice", "planner", "sg_library", 1)
    record = last_record()
    assert (record["action"], record["outcome"]) == ("plan_accepted", "accepted")
    assert record["data"]["digest"] == row.digest
    assert record["actor"]["name"] == "planner"


@pytest.mark.both
def test_a_refused_plan_is_kept_too_with_every_violation():
    row, _ = submit(body=body("broken-in-six-ways"), by=person("alice"), now=NOW)
    assert not row.accepted
    assert row.agent is None
    assert len(row.violations) == 6
    assert last_record()["data"]["rules"] == dict.fromkeys(
        ("schema", "pivot-ordering", "class-coherence", "mandate", "undo-ttl", "key-integrity"), "1"
    )


@pytest.mark.both
@pytest.mark.parametrize("data", [b"", b"\xff\x00", b'{"sagaId":"\\u0000\\u202e"}', b'{"\\ud800":1}', b"[" * 9_999])
def test_bytes_that_are_no_plan_are_kept_as_they_are(data):
    row, _ = submit(body=data, by=person("alice"), now=NOW)
    row.refresh_from_db()
    assert (row.accepted, row.digest, bytes(row.body)) == (False, "", data)
    assert row.violations


def test_a_text_with_nul_and_surrogates_in_every_member_can_be_kept():
    text = json.dumps(fixture("article")).replace("s1", "s1\\u0000").replace("sg_fixture", "sg\\u0000\\u202e")
    row, _ = submit(body=text.encode(), by=person("alice"), now=NOW)
    row.refresh_from_db()
    assert "\0" not in row.saga


def test_what_is_too_large_to_be_read_is_not_kept():
    with pytest.raises(PlanTooLargeError):
        submit(body=b" " * (artifact.MAX_BYTES + 1), by=person("alice"), now=NOW)
    assert not PlanSubmission.objects.exists()


def test_the_same_proposal_again_writes_nothing_unless_the_verdict_has_changed():
    by = person("alice")
    first, _ = submit(body=body(), by=by, now=NOW)
    records = Record.objects.count()
    again, new = submit(body=body(), by=by, now=later(minutes=1))
    assert (again, new, Record.objects.count()) == (first, False, records)
    ended, new = submit(body=body(), by=by, now=later(days=100))
    assert (new, ended.accepted) == (True, False)
    assert submit(body=body(), by=planner(), now=NOW)[1]
    assert submit(body=body(), by=by, now=NOW, profile="strict")[1]


def test_an_agent_needs_the_scope_and_nobody_proposes_without_an_owner():
    with pytest.raises(ScopeMissingError):
        submit(body=body(), by=planner(scopes=["read"]), now=NOW)
    with pytest.raises(ForPersonsOnlyError):
        submit(body=body(), by=actors.system("beat"), now=NOW)


@pytest.mark.both
def test_nothing_is_kept_when_the_record_cannot_be_written(monkeypatch):
    def broken(*_args: object, **_named: object) -> None:
        raise DatabaseError

    monkeypatch.setattr(log, "append", broken)
    by = person("alice")
    with pytest.raises(DatabaseError):
        submit(body=body(), by=by, now=NOW)
    assert not PlanSubmission.objects.exists()


def test_plans_are_seen_by_their_owner_admin_and_auditor_and_an_agent_sees_its_own():
    mine, _ = submit(body=body(), by=planner("alice"), now=NOW)
    typed, _ = submit(body=body("article"), by=person("alice"), now=NOW)
    seen = {
        name: {row.pk for row in queries.plans(by=person(name)).rows} for name in ("alice", "bob", "admin", "auditor")
    }
    assert seen == {
        "alice": {mine.pk, typed.pk},
        "bob": set(),
        "admin": {mine.pk, typed.pk},
        "auditor": {mine.pk, typed.pk},
    }
    assert {row.pk for row in queries.plans(by=planner("alice")).rows} == {mine.pk}
    with pytest.raises(NotFoundError):
        queries.plan(key=mine.pk, by=person("bob"))


def test_a_list_is_read_in_pages_and_by_verdict():
    by = person("alice")
    for name in ("sound", "article", "mandate-ended"):
        submit(body=body(name), by=by, now=NOW)
    page = queries.plans(by=by, size=2)
    rest = queries.plans(by=by, size=2, before=page.before)
    assert [row.saga for row in [*page.rows, *rest.rows]] == ["sg_library", "sg_fixture", "sg_library"]
    assert rest.before is None
    assert len(queries.plans(by=by, accepted=True).rows) == 1


@pytest.mark.both
def test_the_database_holds_that_an_accepted_plan_has_a_digest_and_no_forged_signature():
    row, _ = submit(body=body(), by=person("alice"), now=NOW)
    for change in ({"digest": ""}, {"signature": "wrong"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            PlanSubmission.objects.filter(pk=row.pk).update(**change)


def test_the_article_s_plan_as_an_example_is_refused_and_its_first_fix_accepted():
    row, _ = submit(body=examples.article(NOW), by=person("alice"), now=NOW)
    assert [one["path"] for one in row.violations] == [["steps", 1, "maxDurationSeconds"]]
    assert submit(body=queries.verdict_of(row).fixes[0].plan_bytes, by=person("alice"), now=NOW)[0].accepted


@pytest.mark.both
@pytest.mark.parametrize("verb", ["register", "withdraw"])
def test_no_key_changes_when_the_record_cannot_be_written(monkeypatch, verb):
    planner()
    by = actors.system("test")
    key = keys.register(agent="planner", public_key=signer()[1], by=by, now=NOW)
    changes = {
        "register": lambda: keys.register(agent="planner", public_key=signer()[1], by=by, now=NOW),
        "withdraw": lambda: keys.withdraw(keys=[key.pk], by=by, now=NOW),
    }

    def broken(*_args: object, **_named: object) -> None:
        raise DatabaseError

    monkeypatch.setattr(log, "append", broken)
    with pytest.raises(DatabaseError):
        changes[verb]()
    assert [row.withdrawn_at for row in AgentKey.objects.all()] == [None]


# -- Keys ---------------------------------------------------------------------------------------------------------


def signer() -> tuple[Ed25519PrivateKey, str]:
    private = Ed25519PrivateKey.generate()
    return private, base64.b64encode(private.public_key().public_bytes_raw()).decode()


def signed(private: Ed25519PrivateKey) -> bytes:
    plan = fixture("sound")
    plan["signature"] = "ed25519:" + base64.b64encode(private.sign(canonical.plan_bytes(plan))).decode()
    return json.dumps(plan).encode()


@pytest.mark.both
def test_a_signature_is_verified_against_the_registered_key_until_it_is_withdrawn(settings):
    by, admin = planner(), person("admin")
    private, public = signer()
    assert submit(body=signed(private), by=by, now=NOW)[0].signature == "unchecked"
    key = keys.register(agent="planner", public_key=public, by=admin, now=NOW)
    assert keys.register(agent="planner", public_key=public, by=admin, now=NOW) == key
    assert submit(body=signed(private), by=by, now=NOW)[0].signature == "verified"
    forged, _ = submit(body=signed(signer()[0]), by=by, now=NOW)
    assert (forged.signature, forged.accepted) == ("wrong", False)
    settings.PLANS_MUST_BE_SIGNED = True
    assert not submit(body=body("article"), by=by, now=NOW)[0].accepted
    keys.withdraw(keys=[key.pk], by=admin, now=NOW)
    assert last_record()["action"] == "agent_key_withdrawn"
    assert not submit(body=signed(private), by=by, now=NOW)[0].accepted
    with pytest.raises(keys.BadKeyError):
        keys.register(agent="planner", public_key=public, by=admin, now=NOW)


def test_keys_are_an_admin_s_to_change():
    planner()
    key = keys.register(agent="planner", public_key=signer()[1], by=actors.system("command"), now=NOW)
    for by in (person("alice"), planner(), person("auditor")):
        with pytest.raises(keys.KeysNotYoursToChangeError):
            keys.register(agent="planner", public_key=signer()[1], by=by, now=NOW)
        with pytest.raises(keys.KeysNotYoursToChangeError):
            keys.withdraw(keys=[key.pk], by=by, now=NOW)
    with pytest.raises(keys.NoSuchKeyError):
        keys.withdraw(keys=[key.pk, factories.token().pk], by=person("admin"), now=NOW)
    assert AgentKey.objects.get().withdrawn_at is None


@pytest.mark.parametrize("text", ["", "AAAA", "x" * 43, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"])
def test_what_is_no_key_is_refused(text):
    planner()
    with pytest.raises(keys.BadKeyError):
        keys.register(agent="planner", public_key=text, by=actors.system("test"), now=NOW)


def test_the_command_registers_a_key_from_a_file(tmp_path, capsys):
    planner()
    private, _ = signer()
    file = tmp_path / "key.pem"
    file.write_bytes(private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    call_command("register_agent_key", "--agent", "planner", "--key", str(file))
    assert AgentKey.objects.get().fingerprint in capsys.readouterr().out
    with pytest.raises(CommandError):
        call_command("register_agent_key", "--agent", "nobody", "--key", str(file))
    with pytest.raises(CommandError):
        call_command("register_agent_key", "--agent", "planner", "--key", str(tmp_path))
