"""Does the API refuse to take back over what happened since, say exactly what that is, and take an informed choice?"""

import pytest

from sideeffects.workspace.models import Note, Project
from tests.integration.api.test_recording import problem

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def call(sender, tool, arguments):
    answer = sender.call(tool, [None], arguments=arguments, status=None)
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_a_change_is_told_field_by_field_and_overridden_knowingly(agent, person):
    sender, alice = agent(), person("alice")
    call(sender, "note.create", {"title": "Plan", "body": "First"})
    note = Note.objects.get()
    made = call(sender, "note.update", {"note": str(note.pk), "title": "Better"})
    assert made["changed"] == [
        {"effect": made["members"][0]["effect"], "fields": [{"field": "title", "before": "Plan", "after": "Better"}]}
    ]
    assert made["members"][0]["how_far"] == "Put back here, restorable"
    note.refresh_from_db()
    note.body = "By alice"
    note.save()
    refused = alice.post(f"{made['url']}/revoke")
    body = problem(refused, 409, "edited-since")
    assert body["edited"][0]["fields"] == [
        {"field": "body", "then": "First", "now": "By alice", "override": "By alice"}
    ]
    assert problem(sender.post(f"{made['url']}/revoke"), 409, "edited-since")["edited"][0]["fields"] == [
        {"field": "body"}
    ]
    unseen = problem(alice.post(f"{made['url']}/revoke", {"override": True}), 400, "invalid")["errors"]
    assert unseen == [{"member": "seen", "detail": "An override says what it has seen."}]
    stale = {"override": True, "seen": "0" * 32}
    assert problem(alice.post(f"{made['url']}/revoke", stale), 409, "edited-since")["seen"] == body["seen"]
    problem(sender.post(f"{made['url']}/revoke", {"override": True, "seen": body["seen"]}), 403, "for-persons-only")
    answer = alice.post(f"{made['url']}/revoke", {"override": True, "seen": body["seen"]}).json()
    assert (answer["complete"], answer["also"]) == (True, [])
    assert answer["members"][0]["detail"] == "put back to the version before over later changes of body"
    note.refresh_from_db()
    assert (note.title, note.body) == ("Plan", "By alice")
    assert alice.get(made["url"]).json()["words"] == "Revoked: put back to the version before"


def test_later_actions_are_told_and_left_or_included(agent, person):
    sender, alice = agent(), person("alice")
    base = sender.project(tasks=1).json()
    key = str(Project.objects.get().pk)
    task = call(sender, "task.create", {"project": key, "title": "One more"})
    shown = alice.get(base["url"]).json()["later"]
    assert shown == [{"group": task["id"], "url": task["url"], "how": ["created under"]}]
    body = problem(alice.post(f"{base['url']}/revoke"), 409, "depended-on")
    assert (body["count"], body["alone"]) == (1, True)
    assert body["later"] == [{"group": task["id"], "how": ["created under"]}]
    answer = alice.post(f"{base['url']}/revoke", {"dependants": "include"}).json()
    assert answer["complete"]
    assert answer["also"] == [{"group": task["id"], "url": task["url"], "outcome": "revoked", "complete": True}]
    alice.post(f"{base['url']}/restore")
    alice.post(f"{task['url']}/restore")
    left = alice.post(f"{base['members'][0]['url']}/revoke", {"dependants": "leave"}).json()
    assert (left["complete"], left["also"]) == (True, [])
    assert alice.get(task["url"]).json()["standing"] == "standing"
