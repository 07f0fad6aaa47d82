"""Do the pages of batches say the numbers before the click, what came of each, and what a restore leaves outside?"""

import re
from typing import Any

import pytest
from django.urls import reverse

from sideeffects.models import Batch
from tests import external, factories
from tests.batches import carry_on
from tests.factories import planner
from tests.integration.pages.conftest import Reader, reader

__all__ = ["reader"]
pytestmark = pytest.mark.django_db
NEW = "/batches/new"


def start(who: Reader, scope: str, **fields: Any) -> str:
    """Send the form of the preview as it stands there, and return the words of the batch's page."""
    markup = who.open(f"{NEW}?{scope}")
    hidden: Any = dict(re.findall(r'<input type="hidden" name="(seen|key)" value="([^"]*)"', markup))
    return who.send(f"{NEW}?{scope}", **hidden, **fields)


@pytest.fixture
def mixed(settings):
    """Three kinds of actions in one conversation: taken back here, asked of a target, not revocable."""
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    external.registered("http://127.0.0.1:9")
    by = planner()
    for number in range(2):
        factories.project(by, name=f"P{number}", tasks=1)
    external.contact("c_1", by=by)
    factories.report(by, [factories.contact("m", type_="message")], tool="email.send", arguments={"to": "x"})


def test_the_numbers_stand_before_the_click_and_add_up_after_it(mixed, reader):
    alice = reader("alice")
    text = alice.read(f"{NEW}?conversation=c1")
    assert "4 actions, 6 objects" in text
    assert "4 will be taken back here" in text
    assert "1 will only be requested of crm.example" in text
    assert "1 cannot come back" in text
    assert "4 of 4" not in text
    text = start(alice, "conversation=c1", reason="wrong hour")
    assert "0 of 4 actions attempted" in text
    assert "Reason: wrong hour" in text
    carry_on()
    [batch] = Batch.objects.all()
    text = alice.read(reverse("batch", args=[batch.pk]))
    assert "4 of 4 actions attempted" in text
    table = re.search(r'<table class="buckets">.*?</table>', alice.open(reverse("batch", args=[batch.pk])), re.DOTALL)
    assert table is not None
    rows = [
        [int(n) for n in re.findall(r'"num">(?:<a[^>]*>)?(\d+)', row)] for row in table.group().split("</tr>")[1:-1]
    ]
    *shares, whole = rows
    assert [sum(column) for column in zip(*shares, strict=True)] == whole == [4, 6]
    assert "Not sent yet" in text
    assert "1 object stays asked of its target" in text


def test_it_is_watched_without_scripts_until_it_has_ended(mixed, reader):
    alice = reader("alice")
    start(alice, "conversation=c1")
    address = reverse("batch", args=[Batch.objects.get().pk])
    working = alice.open(address)
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in working
    assert 'http-equiv="refresh"' not in alice.open(f"{address}?still=1")
    assert 'hx-trigger="every 2s"' in working
    carry_on()
    ended = alice.open(address)
    assert "refresh" not in ended
    assert "every 2s" not in ended
    poll = alice.client.get(f"{address}?was=working", headers={"hx-request": "true"})
    assert poll["HX-Refresh"] == "true"
    assert "<html" not in poll.content.decode()
    poll = alice.client.get(f"{address}?was=finished", headers={"hx-request": "true"})
    assert "HX-Refresh" not in poll


def test_stop_resume_and_restore_ask_first_and_say_what_stays_outside(mixed, reader):
    alice = reader("alice")
    start(alice, "conversation=c1")
    address = reverse("batch", args=[Batch.objects.get().pk])
    assert "4 will not be attempted" in alice.read(f"{address}stop")
    assert "Stopped by you" in alice.send(f"{address}stop")
    assert "Go on with 4 actions" in alice.read(f"{address}resume")
    alice.send(f"{address}resume")
    carry_on()
    text = alice.read(f"{address}restore")
    assert "2 actions will be restored" in text
    assert "1 object stays asked of its target" in text
    text = alice.send(f"{address}restore")
    assert "Restore 2 actions" in text
    carry_on()
    restore = Batch.objects.get(kind="restore")
    text = alice.read(reverse("batch", args=[restore.pk]))
    assert "2 actions were restored" in text
    assert "Restored since" in alice.read(address)
    [group, *_] = restore.items.all()
    assert "as part of a batch" in alice.read(reverse("group", args=[group.group_id]))
    assert "nothing to stop" in alice.read(f"{address}stop")


def test_what_landed_since_is_named_and_a_changed_selection_is_shown_anew(mixed, reader):
    alice = reader("alice")
    markup = alice.open(f"{NEW}?conversation=c1")
    hidden = dict(re.findall(r'<input type="hidden" name="(seen|key)" value="([^"]*)"', markup))
    factories.project(planner(), name="Late", tasks=0)
    text = alice.send(f"{NEW}?conversation=c1", status=422, **hidden)
    assert "The selection has changed since you looked" in text
    assert "5 actions" in text
    start(alice, "conversation=c1")
    factories.project(planner(), name="Later still", tasks=0)
    carry_on()
    text = alice.read(reverse("batch", args=[Batch.objects.get().pk]))
    assert "Landed since, not part of this" in text
    assert "Later still" in text


def test_two_clicks_are_one_batch(mixed, reader):
    alice = reader("alice")
    markup = alice.open(f"{NEW}?conversation=c1")
    hidden = dict(re.findall(r'<input type="hidden" name="(seen|key)" value="([^"]*)"', markup))
    for _click in range(2):
        alice.send(f"{NEW}?conversation=c1", **hidden)
    assert Batch.objects.count() == 1


def test_an_address_that_means_nothing_or_anothers_is_said_so(mixed, reader):
    alice = reader("alice")
    assert "Which actions?" in alice.read(NEW)
    assert "cannot be meant" in alice.read(f"{NEW}?conversation={'x' * 201}", status=400)
    assert "cannot be meant" in alice.read(f"{NEW}?groups=x", status=400)
    assert "Only an admin" in alice.read(f"{NEW}?conversation=c1&owner=bob", status=400)
    assert "No action that you may take back meets this." in reader("bob").read(f"{NEW}?conversation=c1")
    start(alice, "conversation=c1")
    address = reverse("batch", args=[Batch.objects.get().pk])
    reader("bob").open(address, status=404)
    assert "as an admin" not in reader("admin").read(address)


def test_an_admin_takes_back_across_owners_for_a_reason(mixed, reader):
    factories.project(planner("bob"), name="Bobs", tasks=0)
    admin = reader("admin")
    assert "of 2 people" in admin.read(f"{NEW}?agent=planner")
    assert "say why, in a few words" in _refused(admin, "agent=planner")
    assert "as an admin" in start(admin, "agent=planner", reason="An hour gone wrong")
    assert "An hour gone wrong" in admin.read("/console/batches/")
    assert "You have taken back no batch yet." in reader("alice").read("/batches/")
    reader("alice").open("/console/batches/", status=403)


def _refused(who: Reader, scope: str) -> str:
    hidden = dict(re.findall(r'<input type="hidden" name="(seen|key)" value="([^"]*)"', who.open(f"{NEW}?{scope}")))
    return who.send(f"{NEW}?{scope}", status=422, **hidden)


def test_the_table_for_spreadsheets_is_whole_and_inert(reader):
    factories.project(planner(), name='=HYPERLINK("x")', tasks=0, conversation="=1+1")
    factories.project(planner(), name="Plain", tasks=0, conversation="=1+1")
    alice = reader("alice")
    start(alice, "conversation=%3D1%2B1")
    carry_on()
    answer = alice.client.get(reverse("batch-table", args=[Batch.objects.get().pk]))
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    lines = b"".join(answer.streaming_content).decode().splitlines()
    assert len(lines) == 4
    assert all(",'=1+1," in line for line in lines[1:3])
    assert not any(cell.startswith("=") for line in lines for cell in line.split(","))
    assert lines[-1] == "Whole: 2 of the 2 actions of the batch"


def test_actions_lead_to_a_batch_only_where_it_would_mean_just_these(mixed, reader):
    alice = reader("alice")
    assert "Revoke all of these…" in alice.read("/?conversation=c1")
    assert "/batches/new?conversation=c1" in alice.open("/")
    for narrowed in ("/?conversation=c1&q=P1", "/?conversation=c1&standing=standing", "/"):
        assert "Revoke all of these…" not in alice.read(narrowed)
    admin = reader("admin")
    assert "/batches/new?tool=project.create&amp;owner=alice" in admin.open("/console/?owner=alice&tool=project.create")
    factories.project(planner("admin"), name="Admins", tasks=0)
    assert "/batches/new?conversation=c1&amp;owner=admin" in admin.open("/?conversation=c1")


def test_no_page_costs_more_with_more_rows(reader):
    by, alice = planner(), reader("alice")
    for number in range(3):
        factories.project(by, name=f"P{number}", tasks=0)
    start(alice, "conversation=c1")
    carry_on()
    address = reverse("batch", args=[Batch.objects.get().pk])
    pages = ("/batches/", f"{NEW}?conversation=c1", address)
    before = {page: alice.queries(page) for page in pages}
    for number in range(9):
        factories.project(by, name=f"Q{number}", tasks=1, run="more")
    for _more in range(3):
        start(alice, "run=more")
    carry_on()
    more = Batch.objects.order_by("pk").last()
    assert more is not None
    assert alice.queries("/batches/") <= before["/batches/"]
    assert alice.queries(f"{NEW}?conversation=c1") <= before[f"{NEW}?conversation=c1"]
    assert alice.queries(reverse("batch", args=[more.pk])) <= before[address]
