"""What does an auditor see in the browser, and what can a record do to the page?"""

import re
from itertools import count
from types import SimpleNamespace

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import escape

from audit import checkpoints, log
from audit.events import CATALOGUE
from audit.models import Record, Seal
from audit.verify import verify
from tests.entries import ALICE, PLANNER, granted, revoked, sealed, write
from tests.factories import NOW, user

pytestmark = [pytest.mark.both, pytest.mark.django_db]

NASTY = '<script>alert(1)</script>"\u202e\x1b\u2066{{x}}'


@pytest.fixture
def auditor(client):
    client.force_login(user("auditor", role="auditor"), backend="django.contrib.auth.backends.ModelBackend")
    return client


def shown(client, name, *args, **query):
    answer = client.get(reverse(name, args=args), query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_list_shows_the_sentence_the_actor_and_the_owner_apart(auditor):
    write(revoked(1, actor=PLANNER, owner=ALICE))
    log.seal()
    write(granted(2))
    text = shown(auditor, "audit-search")
    cells = [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", text, re.DOTALL)]
    assert cells[0].startswith("admin granted user 2 the role auditor.")
    assert cells[1:3] == ["admin", "nobody"]
    assert cells[4] == "not sealed yet"
    assert cells[5].startswith("agent planner had project 1 revoked: 2 revoked.")
    assert cells[6:8] == ["agent planner", "alice"]
    assert cells[9] == "0"
    assert "1 sealed record." in text
    assert "1 record is not sealed yet" in text


def test_a_member_leads_to_the_record_and_the_record_to_each_member(auditor):
    [record] = sealed(1)
    text = shown(auditor, "audit-search", type="task", id="0001")
    assert reverse("audit-record", args=[record.uid]) in text
    text = shown(auditor, "audit-record", record.uid)
    assert "?type=task&amp;id=0001" in text
    assert record.leaf_hash in text
    assert Seal.objects.get().chain in text
    for name, meaning in CATALOGUE["COMPENSATE"].fields.items():
        assert name in text
        assert escape(meaning) in text


def test_nothing_that_others_wrote_does_anything(auditor):
    [record] = write(
        revoked(1, title=NASTY, group=NASTY, outcome=NASTY[:40], subjects=[("task", NASTY)], target=("project", NASTY))
    )
    log.seal()
    for text in (shown(auditor, "audit-search"), shown(auditor, "audit-record", record.uid)):
        assert "<script>alert" not in text
        assert not {"\u202e", "\u2066", "\x1b"} & set(text)
        assert "⟨U+202E⟩" in text
    link = re.search(r'href="([^"]*group=[^"]*)"', text)
    assert link
    assert auditor.get(link[1].replace("&amp;", "&")).status_code == 200


def test_a_record_that_was_altered_is_shown_as_that_not_as_a_fault(auditor, tampering):
    [record] = sealed(1)
    with tampering():
        Record.objects.update(body='{"action": 1}', action="made_up")
    for text in (shown(auditor, "audit-search"), shown(auditor, "audit-record", record.uid)):
        assert "Altered: the stored bytes are no record." in text


def test_older_pages_keep_the_filters(auditor):
    sealed(60)
    text = shown(auditor, "audit-search", action="COMPENSATE", owner="alice")
    assert text.count("<tr ") == 51
    link = re.search(r'rel="next" href="([^"]+)"', text)
    assert link
    older = auditor.get(reverse("audit-search") + link[1].replace("&amp;", "&"))
    assert older.content.decode().count("<tr ") == 11
    assert 'value="alice"' in older.content.decode()


def test_a_filter_that_cannot_be_meant_is_answered_in_words(auditor):
    answer = auditor.get(reverse("audit-search"), {"id": "1"})
    assert answer.status_code == 400
    assert "type: needed beside id" in answer.content.decode()


@pytest.mark.parametrize("name", ["audit-search", "api-audit-records"])
def test_a_list_costs_as_many_queries_with_many_rows_as_with_few(auditor, name):
    def cost(**query):
        with CaptureQueriesContext(connection) as seen:
            shown(auditor, name, **query)
        return len(seen)

    sealed(1)
    write(granted(1))
    few = [cost(), cost(owner="alice", outcome="revoked"), cost(type="user", id="1")]
    write(*(revoked(number) for number in range(2, 90)))
    log.seal()
    write(*(granted(number) for number in range(20)))
    assert [cost(), cost(owner="alice", outcome="revoked"), cost(type="user", id="1")] == few


def test_a_record_costs_as_many_queries_with_many_members_as_with_few(auditor):
    def cost(record):
        with CaptureQueriesContext(connection) as seen:
            shown(auditor, "audit-record", record.uid)
        return len(seen)

    small, large = write(revoked(1, tasks=1), revoked(2, tasks=200))
    assert cost(small) == cost(large)


def test_verifying_is_asked_for_answered_and_recorded(auditor):
    sealed(2)
    assert "Verify now" in shown(auditor, "audit-verify")
    assert not Record.objects.filter(action="log_verified").exists()
    text = auditor.post(reverse("audit-verify")).content.decode()
    assert "Consistent: all 2 sealed records" in text
    assert "replaced as a whole" in text
    assert "is-done" not in text  # no check mark: nothing is called valid
    record = Record.objects.get(action="log_verified")
    assert (record.actor, record.owner, record.outcome) == ("user:auditor", "", "consistent")


def test_a_broken_log_is_called_broken_on_the_page(auditor, tampering):
    records = sealed(3)
    with tampering():
        Record.objects.filter(pk=records[1].pk).update(actor="user:eve")
    text = auditor.post(reverse("audit-verify")).content.decode()
    assert "Broken: lookup altered, first at record 1" in text
    assert Record.objects.get(action="log_verified").outcome == "broken"


def test_an_empty_log_cannot_be_told(auditor):
    assert "Nothing stands on the log yet." in shown(auditor, "audit-search")
    assert "Cannot tell" in auditor.post(reverse("audit-verify")).content.decode()


def test_a_log_too_long_for_a_request_says_how_far_it_got(auditor, monkeypatch):
    sealed(3)
    monkeypatch.setattr("audit.views.VERIFY_SECONDS", -1)
    text = auditor.post(reverse("audit-verify")).content.decode()
    assert "the time was over after 0 of 3 records" in text
    assert "Go on" not in text  # from nowhere


def test_a_long_log_is_verified_in_goes_and_each_goes_on_where_the_one_before_stopped(auditor, tampering, monkeypatch):
    records = sealed(6)
    kept = checkpoints.sign(now=NOW)
    assert kept is not None
    held = {"checkpoint": kept.note, "key": kept.key}
    clock = SimpleNamespace(monotonic=count().__next__)  # two batches of two records in a go
    monkeypatch.setattr("audit.walk.ROWS", 2)
    monkeypatch.setattr("audit.walk.time", clock)
    monkeypatch.setattr("audit.verify.time", clock)
    monkeypatch.setattr("audit.views.VERIFY_SECONDS", 2)

    def go(reached="", **sent):
        response = auditor.post(reverse("audit-verify"), {**held, **sent, "reached": reached})
        return response.context["verdict"], response.context["onward"], response.content.decode()

    first, onward, text = go()
    assert (first.verdict, first.checked) == ("cannot tell", 4)
    assert "Go on" in text
    assert "several goes" not in text
    last, none, text = go(onward)
    assert (last.verdict, last.checked, none) == ("verified", 6, "")
    assert "several goes" in text
    assert (last.head, last.root) == (verify().head, verify().root)
    for other in (onward[:-1], "x"):
        assert go(other)[0].checked == 4  # nobody else's word: from the start
    assert go(onward, checkpoint="", key="")[0].checked == 4  # nor what was looked at with another checkpoint
    with tampering():
        Record.objects.filter(pk=records[4].pk).update(actor="user:eve")
    assert go(onward)[0].fault.seq == 4
    assert Record.objects.filter(action="log_verified").count() == 6


def test_the_catalogue_is_open_to_everyone(client):
    text = client.get(reverse("events")).content.decode()
    for event in CATALOGUE.values():
        assert event.name in text


def test_djangos_admin_shows_the_log_and_changes_nothing(client):
    [record] = sealed(1)
    boss = get_user_model().objects.create_superuser("root", password="x")
    client.force_login(boss, backend="django.contrib.auth.backends.ModelBackend")
    for model in ("record", "subject", "seal", "head", "unsealed"):
        assert client.get(f"/admin/audit/{model}/").status_code == 200
        assert client.get(f"/admin/audit/{model}/add/").status_code == 403
    assert client.get(f"/admin/audit/record/{record.pk}/change/").status_code == 200
    assert client.post(f"/admin/audit/record/{record.pk}/change/", {"action": "x"}).status_code == 403
    assert client.post(f"/admin/audit/record/{record.pk}/delete/", {"post": "yes"}).status_code == 403


# -- API ----------------------------------------------------------------------------------------------------------


def test_the_api_lists_what_is_sealed_and_what_is_not(auditor):
    [old] = sealed(1)
    [new] = write(granted(2))
    answer = auditor.get(reverse("api-audit-records")).json()
    assert answer["next"] is None
    assert answer["results"][0] | {"occurred_at": "2026-11-30T12:00:00.000000Z"} == answer["results"][0]
    assert [(one["uid"], one["seq"], one["sealed"]) for one in answer["results"]] == [
        (str(new.uid), None, False),
        (str(old.uid), 0, True),
    ]
    assert answer["results"][1] == {
        "uid": str(old.uid),
        "seq": 0,
        "sealed": True,
        "action": "COMPENSATE",
        "outcome": "revoked",
        "target": {"type": "project", "id": "0"},
        "group": "g0",
        "actor": "user:alice",
        "owner": "user:alice",
        "occurred_at": "2026-11-30T12:00:00.000000Z",
        "leaf_hash": old.leaf_hash,
    }


def test_the_api_pages_through_everything_once(auditor):
    sealed(120)
    url, seen = reverse("api-audit-records") + "?owner=alice", []
    while url:
        answer = auditor.get(url).json()
        seen += [one["seq"] for one in answer["results"]]
        url = answer["next"]
    assert seen == list(range(119, -1, -1))


def test_the_api_gives_the_exact_text_that_was_hashed(auditor):
    [record] = write(granted(1, data={"role": "ü\u202e"}))
    answer = auditor.get(reverse("api-audit-record", args=[record.uid])).json()
    assert answer["body"] == record.body
    assert answer["subjects"] == [{"type": "user", "id": "1"}, {"type": "user", "id": "2"}]
    assert (answer["chain"], answer["sealed"]) == (None, False)


def test_the_api_names_every_bad_filter(auditor):
    answer = auditor.get(reverse("api-audit-records"), {"since": "2026-11-30T10:00:00", "id": "1", "x": "y"})
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"].endswith("#bad-filter")
    assert [error["member"] for error in problem["errors"]] == ["since", "type", "x"]


def test_the_api_verifies_without_writing(auditor):
    assert auditor.get(reverse("api-audit-verify")).json()["verdict"] == "cannot tell"
    sealed(2)
    answer = auditor.get(reverse("api-audit-verify")).json()
    assert (answer["verdict"], answer["size"], answer["kind"]) == ("consistent", 2, None)
    assert Record.objects.count() == 2


def test_a_record_of_another_log_or_none_is_not_found(auditor, settings):
    [record] = sealed(1)
    settings.AUDIT_LOG = "demo"
    for name in ("audit-record", "api-audit-record"):
        assert auditor.get(reverse(name, args=[record.uid])).status_code == 404
