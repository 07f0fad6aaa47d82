"""Can an admin say which systems may be asked, and is every change, and every secret, shown as what it is?"""

import re

import pytest

from sideeffects.models import Request, Target
from tests.external import asked, bodies, contact, go, registered, state
from tests.factories import later, planner

pytestmark = pytest.mark.django_db
LIST = "/console/targets/"
NEW = "/console/targets/new"
PAGE = "/console/targets/crm.example/"


def settings_of(fake, **changed):
    given = {
        "base_url": fake.url,
        "audience": "https://crm.example",
        "pointer": "/status",
        "done": "done, succeeded",
        "failed": "failed",
        "pending": "pending",
        "max_in_flight": "10",
        "stale_minutes": "",
    }
    return given | changed


def test_a_target_that_a_tool_names_is_registered_and_its_secret_shown_once(reader, fake):
    contact()
    admin = reader("admin")
    assert "Not registered: nothing is asked of it Register…" in admin.read(LIST)
    assert "DELETE /contacts/{id}" in admin.read(PAGE)
    text = admin.send(PAGE, **settings_of(fake, secret="on"))
    [secret] = re.findall(r"whsec_\S+", text)
    assert "It is shown this once." in text
    assert "/api/v1/callbacks/crm.example" in text
    assert secret not in admin.open(PAGE)
    assert secret not in str(bodies("target_registered"))
    assert "A secret is kept, encrypted; it cannot be shown again." in admin.read(PAGE)
    row = Target.objects.get()
    assert row.mapping["done"] == ["done", "succeeded"]
    assert secret not in row.callback_secret
    admin.send(PAGE, **settings_of(fake, stale_minutes="30"))
    kept = Target.objects.get()
    assert (kept.callback_secret, kept.stale_minutes) == (row.callback_secret, 30)


def test_a_new_name_is_registered_and_a_known_one_is_not_overwritten(reader, fake):
    admin = reader("admin")
    assert "holds 0 objects" in admin.send(NEW, name="erp.example", **settings_of(fake)) + admin.read(LIST)
    text = admin.send(NEW, name="erp.example", **settings_of(fake, audience="other"), status=422)
    assert "A target of this name is registered already" in text
    assert Target.objects.get().audience == "https://crm.example"


def test_every_bad_member_is_named_and_nothing_typed_is_lost(reader, fake):
    wrong = settings_of(
        fake,
        base_url="https://127.0.0.1/x",
        audience=" ",
        max_in_flight="0",
        stale_minutes="-1",
        pointer="status",
        done="gone forever",
    )
    admin = reader("admin")
    markup = admin.client.post(NEW, wrong | {"name": "a/b"}).content.decode()
    for member in ("Name", "Base address", "Audience", "Requests at a time", "Stale after", "Where an answer"):
        assert re.search(rf'<a href="#id_\w+">{member}', markup), member
    assert markup.count('class="error"') == 6
    for typed in ("https://127.0.0.1/x", "gone forever", "a/b"):
        assert f'value="{typed}"' in markup
    assert "may not be called" in markup
    text = admin.send(NEW, **settings_of(fake, pointer="", name="x"), status=422)
    assert "Say where in an answer these words stand." in text
    assert not Target.objects.exists()


def test_a_changed_address_suspends_says_so_and_waits_for_a_look(reader, fake):
    registered(fake.url)
    request = asked(contact())
    admin = reader("admin")
    assert "suspends its 1 open request until an admin has looked" in admin.read(PAGE)
    text = admin.send(PAGE, **settings_of(fake, audience="https://new.example"))
    assert "1 request is suspended" in text
    assert "never sent" in text
    assert f"DELETE {fake.url} /contacts/c_1" in text
    assert go(later(minutes=1)) == []
    assert "Suspended: crm.example was changed since" in reader("alice").read(f"/groups/{request.effect.group_id}/")
    assert "1 suspended" in admin.read(LIST)
    assert "1 request goes on." in admin.send(f"{PAGE}resume")
    assert bodies("requests_resumed")[0]["actor"]["name"] == "admin"
    go(later(minutes=2))
    assert state(request) == "compensating"


def test_a_disabled_target_is_asked_nothing_and_says_so_everywhere(reader, fake):
    registered(fake.url)
    admin, request = reader("admin"), asked(contact())
    assert "Nothing is asked of it until it is enabled." in admin.send(f"{PAGE}switch", do="disable")
    assert go(later(minutes=1)) == []
    assert "Not sent yet: crm.example is disabled" in reader("alice").read(f"/groups/{request.effect.group_id}/")
    assert "Not sent yet: the target is disabled" in admin.read("/console/unresolved/")
    admin.send(f"{PAGE}switch", do="enable")
    go(later(minutes=2))
    assert state(request) == "compensating"
    assert [len(bodies(name)) for name in ("target_disabled", "target_enabled")] == [1, 1]
    admin.send(f"{PAGE}switch", do="explode", status=400)


def test_only_admins_see_and_change_targets(reader, fake):
    registered(fake.url)
    for other in ("alice", "auditor"):
        for address in (LIST, NEW, PAGE):
            reader(other).read(address, status=403)
        for address in (NEW, PAGE, f"{PAGE}switch", f"{PAGE}resume"):
            reader(other).send(address, status=403, do="disable", **settings_of(fake, audience="evil"))
    assert Target.objects.get().audience == "https://crm.example"
    reader("admin").read("/console/targets/nothing/", status=404)


@pytest.mark.parametrize("address", [LIST, PAGE])
def test_a_page_costs_the_same_with_one_row_and_with_thirty(reader, fake, address):
    registered(fake.url)
    by, admin = planner(), reader("admin")
    asked(contact("c", by=by))
    Request.objects.update(suspended_at=later())
    admin.queries(address)
    once = admin.queries(address)
    for number in range(30):
        registered(fake.url, name=f"t{number}.example")
        asked(contact(f"c{number}", by=by, target="crm.example" if number < 15 else f"t{number}.example"))
    Request.objects.update(suspended_at=later())
    assert admin.queries(address) == once
