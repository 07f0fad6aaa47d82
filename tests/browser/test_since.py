"""Does a person see in a real browser what was changed since, and pass over exactly that?"""

import pytest
from django.urls import reverse

from sideeffects.workspace.models import Note
from tests import factories
from tests.browser.look import faults
from tests.factories import later, planner

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_difference_is_shown_and_an_override_passes_over_it(sign_in):
    by = planner()
    factories.run(by, "note.create", {"title": "Plan", "body": "First draft"})
    note = Note.objects.get()
    arguments = {"note": str(note.pk), "title": "Better plan"}
    group = factories.run(by, "note.update", arguments, now=later(minutes=1)).group
    assert group is not None
    created = group.owner.groups_owned.exclude(pk=group.pk).get()
    note.refresh_from_db()
    note.title = "By alice, " + "very long " * 18
    note.save()
    alice = sign_in(factories.user("alice"))
    for address in (reverse("group-revoke", args=[created.pk]), reverse("group-revoke", args=[group.pk])):
        alice.goto(address)
        assert faults(alice) == []
    assert "Better plan" in alice.get_by_role("table").inner_text()
    alice.get_by_role("button", name="Revoke 1 object").click()
    assert "was changed since the agent" in alice.get_by_role("main").inner_text()
    alice.get_by_label("Take it back over what was changed since").check()
    alice.get_by_role("button", name="Revoke 1 object").click()
    assert "Revoked: put back to the version before" in alice.get_by_role("main").inner_text()
    assert faults(alice) == []
    note.refresh_from_db()
    assert note.title == "Plan"
