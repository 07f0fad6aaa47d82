"""Does the page of what is unresolved add up, name the oldest, and make one fact of a target that is down?"""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from sideeffects.models import Request, Target
from sideeffects.picture import drawn
from sideeffects.services.record import Status
from tests import factories
from tests.external import asked, clock, contact, go, registered
from tests.factories import planner

pytestmark = pytest.mark.django_db
ADDRESS = "/console/unresolved/"


@pytest.fixture
def crm(fake):
    registered(fake.url)
    return fake


def waiting(key, age, **more):
    group = contact(key, **more)
    moment = clock() - age
    request = asked(group, now=moment)
    go(moment)
    return request


def test_nothing_is_unresolved_is_said(reader):
    assert "Nothing is unresolved. Everything that was asked has been answered" in reader("admin").read(ADDRESS)


@pytest.mark.both
def test_numbers_add_up_and_the_oldest_is_named(reader, crm):
    waiting("c_old", timedelta(days=31, hours=2))
    for key in ("c_1", "c_2"):
        waiting(key, timedelta(minutes=3))
    crm.decide = lambda _seen: (409, {}, b"no")
    waiting("c_no", timedelta(hours=3))
    factories.report(planner(), [], arguments={"n": 9}, status=Status.IN_FLIGHT, now=clock())
    admin = reader("admin")
    text = admin.read(ADDRESS)
    assert "5 unresolved oldest: 31 d 2 h, contact c_old, crm.example" in text
    assert "3 Waiting for the target Waiting for the target oldest: 31 d 2 h" in text
    assert "1 Refused Refused oldest: 3 h, contact c_no, crm.example" in text
    assert "Waiting for the target 2 0 0 0 1 Refused 0 0 1 0 0 In flight 1 0 0 0 0" in text
    assert text.index("Created contact c_old") < text.index("Created contact c_no") < text.index("Created contact c_1")
    assert text.count("Stale: no word for") == 1
    assert "Stale: no word for 31 d 2 h" in text
    text = admin.read(f"{ADDRESS}?cause=refused")
    assert "Created contact c_no" in text
    assert "Created contact c_1" not in text
    assert "the target refused (409)" not in admin.read(f"{ADDRESS}?cause=lost")
    assert "Nothing is listed" in admin.read(f"{ADDRESS}?cause=odd", status=400)
    assert "Nothing is listed" in admin.read(f"{ADDRESS}?after=odd", status=400)


def test_each_line_has_the_button_that_fits(reader, crm):
    old, new = waiting("c_old", timedelta(days=31)), waiting("c_new", timedelta(minutes=2))
    crm.decide = lambda _seen: (409, {}, b"no")
    refused = waiting("c_no", timedelta(minutes=4))
    markup = reader("admin").open(ADDRESS)

    def button(name, request):
        return f"{reverse(name, args=[request.effect.group_id])}?request={request.pk}" in markup

    assert [button("group-attest", one) for one in (old, new, refused)] == [True, False, True]
    assert [button("group-again", one) for one in (old, new, refused)] == [False, False, True]


def test_a_target_that_is_down_is_one_fact_and_its_requests_are_one_click_away(reader, crm):
    for number in range(7):
        asked(contact(f"c_{number}"), now=clock())
    Target.objects.update(
        unreachable_since=clock() - timedelta(minutes=23),
        unreachable_why="connection refused",
        probe_at=clock() + timedelta(seconds=40),
    )
    admin = reader("admin")
    text = admin.read(ADDRESS)
    assert "7 requests crm.example Not sent yet: target unreachable since 23 min ago" in text
    assert "connection refused · next try in" in text
    assert "Created contact" not in text
    text = admin.read(f"{ADDRESS}?target=crm.example")
    assert text.count("Created contact") == 7
    assert "Not sent yet: crm.example is unreachable" in text
    Request.objects.update(suspended_at=clock())
    assert "7 requests crm.example Suspended: the target was changed since they were asked" in admin.read(ADDRESS)


def test_pages_lead_on_from_the_oldest_without_losing_any(reader, crm):
    for number in range(27):
        asked(contact(f"c_{number}"), now=clock() - timedelta(hours=1))
    admin, seen, address = reader("admin"), [], ADDRESS
    while address:
        markup = admin.open(address)
        seen += re.findall(r"Created contact (c_\d+)</bdi></a>", markup)
        following = re.search(r'rel="next" href="([^"]+)"', markup)
        address = ADDRESS + following.group(1) if following else ""
    assert sorted(seen) == sorted(f"c_{number}" for number in range(27))


def test_only_an_admin_opens_it(reader):
    for other in ("alice", "auditor"):
        reader(other).read(ADDRESS, status=403)


def test_it_costs_the_same_with_one_line_and_with_twenty(reader, crm):
    admin = reader("admin")
    waiting("c_first", timedelta(hours=1))
    factories.report(planner(), [], arguments={"n": 0}, status=Status.IN_FLIGHT)
    admin.queries(ADDRESS)
    once = admin.queries(ADDRESS)
    for number in range(20):
        waiting(f"c_{number}", timedelta(hours=1))
        factories.report(planner(), [], arguments={"n": number + 1}, status=Status.IN_FLIGHT)
    assert admin.queries(ADDRESS) == once


def test_the_picture_draws_what_is_there_and_shows_one_among_many():
    made = drawn(
        {"waiting": {"new": 900, "old": 1}, "lost": {"new": 0, "old": 3}}, ["new", "old"], dashed=[("waiting", "old")]
    )
    assert [(bar.count, bar.broken) for bar in made.bars] == [(900, False), (1, True), (3, False)]
    assert all(bar.width > 0 and bar.text_x < made.width for bar in made.bars)
    assert len({(bar.x, bar.y) for bar in made.bars}) == 3
