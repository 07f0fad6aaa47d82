"""What does an auditor see of the proof, what do they take home, and what may anyone check?"""

import json
import re
from urllib.parse import unquote

import pytest
from django.urls import reverse

from audit import log, note
from audit.models import Record
from tests.entries import granted, revoked, sealed, write
from tests.factories import user
from tests.proofs import at_home, signed

pytestmark = [pytest.mark.both, pytest.mark.django_db]


@pytest.fixture
def auditor(client):
    client.force_login(user("auditor", role="auditor"), backend="django.contrib.auth.backends.ModelBackend")
    return client


def get(client, name, *args, code=200, **query):
    answer = client.get(reverse(name, args=args), query)
    assert answer.status_code == code
    return answer.getvalue().decode() if answer.streaming else answer.content.decode()


def words(text):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def test_the_first_page_says_how_much_is_protected_by_nothing(auditor):
    sealed(2)
    assert "There is no checkpoint yet: whoever owns this database" in words(get(auditor, "audit-search"))
    signed()
    assert "0 records are protected by nothing right now" in words(get(auditor, "audit-search"))
    sealed(1)
    write(granted())
    assert "2 records are protected by nothing right now" in words(get(auditor, "audit-search"))


def test_the_overview_has_the_numbers_and_what_can_be_taken_home(auditor):
    assert "There is no checkpoint yet." in words(get(auditor, "audit-overview"))
    sealed(3)
    kept = signed()
    write(granted())
    text = words(get(auditor, "audit-overview"))
    for said in ("3 sealed records", "1 not sealed yet", "1 protected by nothing right now", "3 covered", kept.key):
        assert said in text
    assert get(auditor, "audit-checkpoint") == kept.note
    assert get(auditor, "audit-key") == kept.key + "\n"


def test_before_the_first_checkpoint_nothing_is_given_out(auditor):
    [record] = sealed(1)
    for name, args in (("audit-checkpoint", ()), ("audit-key", ()), ("audit-receipt", (record.uid,))):
        assert "No checkpoint covers this yet" in get(auditor, name, *args, code=409)
    assert auditor.post(reverse("audit-export")).status_code == 409
    assert "No checkpoint covers it yet" in get(auditor, "audit-record", record.uid)
    assert not Record.objects.filter(action="log_exported").exists()


def test_a_receipt_by_a_click_is_proven_at_home_and_on_the_page_for_anyone(auditor, client, tmp_path):
    [record] = sealed(1)
    kept = signed()
    assert reverse("audit-receipt", args=[record.uid]) in get(auditor, "audit-record", record.uid)
    text = get(auditor, "audit-receipt", record.uid)
    path = tmp_path / "r.tlog-proof"
    path.write_text(text, encoding="utf-8")
    assert at_home(tmp_path, kept.key, path)[0] == 0
    client.logout()
    said = client.post(reverse("receipt-check"), {"receipt": text.replace("\n", "\r\n"), "key": kept.key})
    assert "Proven" in words(said.content.decode())
    assert "alice had project 0 revoked: 2 revoked." in said.content.decode()
    other = note.make_signer("takeback.invalid/x")
    said = client.post(reverse("receipt-check"), {"receipt": text, "key": str(other.verifier)})
    assert "Cannot tell" in words(said.content.decode())
    said = client.post(reverse("receipt-check"), {"receipt": text.replace("index 0", "index 5"), "key": kept.key})
    assert "Not proven" in words(said.content.decode())


def test_what_is_pasted_is_shown_inert(client):
    said = client.post(reverse("receipt-check"), {"receipt": "<script>\u202e", "key": "</textarea><b>"})
    assert "<script>\u202e" not in said.content.decode()
    assert "&lt;/textarea&gt;" in said.content.decode()


def test_anyone_gets_the_program_to_take_home(client):
    answer = client.get(reverse("offline-verifier"))
    assert answer.status_code == 200
    assert answer["Content-Disposition"] == 'attachment; filename="verify_offline.py"'
    compile(answer.content, "verify_offline.py", "exec")


def test_an_export_by_a_click_is_proven_at_home_and_recorded(auditor, tmp_path):
    sealed(4)
    kept = signed()
    answer = auditor.post(reverse("audit-export"), {"form": "ndjson", "type": "project", "id": "2"})
    assert answer["Content-Disposition"] == 'attachment; filename="main-4-project-2.ndjson"'
    path = tmp_path / "e.ndjson"
    path.write_bytes(answer.getvalue())
    code, said = at_home(tmp_path, kept.key, path)
    assert (code, "proven: 1 records, and 3 lines" in said) == (0, True)
    body = json.loads(Record.objects.get(action="log_exported").body)
    assert (body["actor"]["name"], body["data"]["object"]) == ("auditor", "project 2")
    assert auditor.post(reverse("audit-export"), {"form": "csv"}).getvalue().startswith(b'"For convenience only')
    assert auditor.post(reverse("audit-export"), {"form": "pdf"}).status_code == 400
    assert auditor.post(reverse("audit-export"), {"type": "project"}).status_code == 400


def test_a_story_tells_one_revocation_from_asking_to_outcome(auditor):
    [first] = write(revoked(5, outcome="requested", group="g5"))
    write(revoked(5, outcome="confirmed", group="g5"), revoked(6, group="g5"))
    log.seal()
    signed()
    text = words(get(auditor, "audit-story", first.uid))
    assert "How the revocation of project 5 went" in text
    assert text.index("the request was accepted") < text.index("the target system says it is undone")
    assert "project 6" not in text
    assert get(auditor, "audit-story", first.uid).count(f'{reverse("audit-record", args=[first.uid])}"') == 2


def test_verify_now_against_a_checkpoint_that_is_pasted(auditor):
    sealed(2)
    kept = signed()
    said = auditor.post(reverse("audit-verify"), {"checkpoint": kept.note.replace("\n", "\r\n"), "key": kept.key})
    assert "Verified against the checkpoint you hold" in said.content.decode()
    assert json.loads(Record.objects.get(action="log_verified").body)["outcome"] == "verified"
    said = auditor.post(reverse("audit-verify"), {"checkpoint": kept.note, "key": ""})
    assert said.status_code == 422
    assert "proves nothing" in said.content.decode()


def test_the_api_gives_receipt_checkpoint_and_export(auditor, tmp_path):
    [record] = sealed(1)
    assert auditor.get("/api/v1/audit/checkpoint").status_code == 409
    kept = signed()
    told = auditor.get("/api/v1/audit/checkpoint").json()
    assert (told["checkpoint"], told["key"], told["size"], told["origin"]) == (kept.note, kept.key, 1, kept.origin)
    receipt = auditor.get(f"/api/v1/audit/records/{record.uid}/receipt")
    assert receipt.getvalue().startswith(b"c2sp.org/tlog-proof@v1\n")
    exported = auditor.get("/api/v1/audit/export", {"type": "task", "id": "0001"})
    path = tmp_path / "e.ndjson"
    path.write_bytes(exported.getvalue())
    assert at_home(tmp_path, kept.key, path)[0] == 0
    refused = auditor.get("/api/v1/audit/export", {"object": "x"})
    assert (refused.status_code, refused.json()["errors"][0]["member"]) == (400, "object")
    verdict = auditor.get("/api/v1/audit/verify").json()
    assert (verdict["covered"], verdict["unprotected"]) == (1, 1)  # the export has recorded itself
    assert unquote(exported["Content-Disposition"]) == 'attachment; filename="main-1-task-0001.ndjson"'
