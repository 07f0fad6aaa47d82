"""Is one asked before anything is taken back, and told from the rows what became of each member?"""

import re

import pytest
from django.urls import reverse

from audit.models import Record
from sideeffects.models import Effect, Revocation
from sideeffects.services.record import Status
from sideeffects.transitions import EffectState
from sideeffects.workspace import adapters
from sideeffects.workspace.models import Note, Project, Task
from tests import factories
from tests.factories import NOW, contact, planner

pytestmark = pytest.mark.django_db


def ask(group):
    return reverse("group-revoke", args=[group.pk])


def back(group):
    return reverse("group-restore", args=[group.pk])


def alive():
    return Project.objects.filter(deleted_at=None).count() + Task.objects.filter(deleted_at=None).count()


@pytest.mark.both
def test_alice_takes_eleven_rows_back_and_restores_them_under_their_ids(reader):
    group = factories.project(planner())
    ids = sorted(Task.objects.values_list("pk", flat=True))
    alice = reader("alice")
    question = alice.read(ask(group))
    assert "11 will be deleted here" in question
    assert "restorable under the same ids" in question
    assert "Revoke 11 objects" in question
    assert alive() == 11
    outcome = alice.send(ask(group))
    assert alive() == 0
    assert "Outcome: revoked, all that was declared" in outcome
    assert "Revoke asked by you" in outcome
    assert "11 revoked" in outcome
    assert outcome.count("Revoked. In trash until") == 12
    assert "task" not in alice.read("/workspace/")
    assert "11 objects in the trash" in alice.read("/trash/")
    question = alice.read(back(group))
    assert "11 come back" in question
    outcome = alice.send(back(group))
    assert "Outcome: restored" in outcome
    assert "Restored by you" in outcome
    assert "Revoke asked by you: 11 revoked," in outcome
    assert "11 restored" in outcome
    assert sorted(Task.objects.filter(deleted_at=None).values_list("pk", flat=True)) == ids
    assert f"task {ids[0]}" in alice.read("/workspace/")
    assert "The trash is empty." in alice.read("/trash/")


def test_the_way_from_the_list_is_two_links_and_a_button(reader):
    group = factories.project(planner())
    alice = reader("alice")
    assert f'<a class="button" href="{ask(group)}">Revoke…' in alice.open("/")
    assert re.search(
        r'<form method="post"[^>]*>.*?<button class="grave">Revoke 11 objects', alice.open(ask(group)), re.DOTALL
    )
    answer = alice.client.post(ask(group))
    assert answer.status_code == 302
    assert answer["Location"] == reverse("group", args=[group.pk])


def test_a_second_revoke_changes_nothing_and_says_so(reader):
    group = factories.project(planner())
    alice = reader("alice")
    alice.send(ask(group))
    assert "Nothing was left to do, so nothing was changed." in alice.send(ask(group))
    assert Revocation.objects.count() == 1
    text = alice.read(ask(group))
    assert "What can be revoked is revoked already." in text
    assert "Revoke 11" not in text


def test_an_admin_needs_a_typed_reason_and_loses_nothing(reader):
    group = factories.project(planner())
    admin = reader("admin")
    question = admin.read(ask(group))
    assert "This belongs to alice, not to you." in question
    admin.send(ask(group), status=422, reason="\u200b")
    text = admin.send(ask(group), status=422, reason="  ")
    assert "This belongs to someone else: say why, in a few words." in text
    assert alive() == 11
    too_long = "because " * 130
    answer = admin.client.post(ask(group), {"reason": too_long})
    assert answer.status_code == 422
    assert too_long.strip() in answer.content.decode()
    outcome = admin.send(ask(group), reason="She asked me on the phone")
    assert "Reason: She asked me on the phone" in outcome
    assert alive() == 0
    assert "Revoke asked by admin" in reader("alice").read(reverse("group", args=[group.pk]))
    record = Record.objects.get(action="COMPENSATE")
    assert (record.actor, record.owner) == ("user:admin", "user:alice")
    admin.send(back(group), status=422)
    assert "Restored by you" in admin.send(back(group), reason="She changed her mind")
    assert "Restored by admin" in reader("alice").read(reverse("group", args=[group.pk]))


def test_an_auditor_reads_and_changes_nothing(reader):
    group = factories.project(planner())
    auditor = reader("auditor")
    assert "Created project" in auditor.read(reverse("group", args=[group.pk]))
    text = auditor.read(ask(group))
    assert "You only read; the owner or an admin can take this back." in text
    assert "<button class" not in re.sub(
        r"<header.*?</header>|<dialog.*", "", auditor.open(ask(group)), flags=re.DOTALL
    )
    assert "An auditor only reads" in auditor.send(ask(group), status=403, reason="just so")
    assert alive() == 11


def test_what_only_a_target_could_undo_is_said_before_and_refused_after(reader):
    by = planner()
    factories.crm(by)
    group = factories.report(by, [contact("c_1")]).group
    alice = reader("alice")
    text = alice.read(ask(group))
    assert "1 stays as it is: nothing is asked" in text
    assert "No admin has registered crm.example yet; nothing is asked there." in text
    assert "no admin has registered crm.example yet" in alice.send(ask(group), status=409)
    assert Effect.objects.get().state == EffectState.ACTIVE


def test_what_cannot_come_back_is_said_with_the_tools_reason(reader):
    group = factories.report(planner(), [contact("m_1", type_="message")], tool="email.send").group
    alice = reader("alice")
    text = alice.read(ask(group))
    assert "1 cannot come back a sent e-mail does not come back" in text
    assert "Not revocable: a sent e-mail does not come back" in text
    assert "Not revocable" in alice.send(ask(group), status=409)


def test_what_has_not_landed_waits(reader):
    group = factories.report(planner(), [], status=Status.IN_FLIGHT).group
    assert group
    alice = reader("alice")
    assert "It has not landed: what it wrote is not known yet." in alice.read(ask(group))
    assert "In flight: cannot be revoked yet" in alice.send(ask(group), status=409)
    assert "Waiting for it to land" in alice.read(reverse("group", args=[group.pk]))


def test_a_member_that_was_gone_is_named_and_the_whole_is_not_called_complete(reader):
    group = factories.project(planner(), tasks=3)
    Task.objects.filter(title="Task 2").update(deleted_at=NOW, deleted_by="user:alice")
    alice = reader("alice")
    outcome = alice.send(ask(group))
    assert "Outcome: not complete" in outcome
    assert "Not complete, since: 1 already gone, not by this." in outcome
    assert "1 already gone 3 revoked" in outcome
    assert "Was already gone, not by this" in outcome
    question = alice.read(back(group))
    assert "3 come back" in question
    assert "1 stay gone" in question
    outcome = alice.send(back(group))
    assert "Partly restored: 3 of 4 are back" in outcome
    assert "3 restored 1 already gone" in outcome


def test_a_failing_member_changes_nothing_and_keeps_what_was_typed(reader, monkeypatch):
    group = factories.project(planner())

    def fail(*_args, **_options):
        raise OSError

    monkeypatch.setattr(adapters.TaskAdapter, "remove", fail)
    text = reader("alice").send(ask(group), status=409, reason="A reason worth keeping")
    assert "Nothing was changed" in text
    assert "A reason worth keeping" in text
    assert alive() == 11


def test_an_open_difference_keeps_a_revoke_from_being_complete(reader):
    by = planner()
    group = factories.project(by, tasks=1)
    twin = group.declarations.get()
    twin.pk, twin.held, twin.digest = None, False, "0" * 64
    twin.difference = {"only_second": [{"type": "task", "id": "99", "operation": "create"}]}
    twin.save(force_insert=True)
    alice = reader("alice")
    assert "Cannot be called complete while the difference is open." in alice.read(ask(group))
    assert "1 declared by a repeat, not held here" in alice.read(ask(group))
    outcome = alice.send(ask(group))
    assert "Outcome: not complete" in outcome
    assert "undone as declared; a retry declared 1 more" in outcome


def test_a_form_without_its_token_does_nothing(reader):
    group = factories.project(planner())
    alice = reader("alice")
    alice.client.handler.enforce_csrf_checks = True
    assert "This form is no longer valid" in alice.send(ask(group), status=403)
    assert alive() == 11


def test_notes_come_and_go_too(reader):
    group = factories.run(planner(), "note.create", {"title": "Hello", "body": "World"}).group
    alice = reader("alice")
    assert "Hello note" in alice.read("/workspace/")
    alice.send(ask(group))
    assert "No notes." in alice.read("/workspace/")
    assert Note.objects.get().deleted_by == "user:alice"
