"""Is what is proven about a way back what its last try came to, and nothing that was only declared or attested?"""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sideeffects import actors, proofs
from sideeffects.models import Effect, Request, Target
from sideeffects.proofwords import Came, EntryFacts, Reach, entry
from sideeffects.services import targets
from sideeffects.services.declare import declare_tool
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import revoke
from sideeffects.targets.registry import ADAPTERS
from sideeffects.tools import Contract
from sideeffects.transitions import EffectState, RevokeClass
from tests import external, factories
from tests.factories import NOW, later, person, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]
CRM = "crm.example.create_contact"
WHERE = "http://127.0.0.1:9"  # never called here


@pytest.fixture(autouse=True)
def _excepted(settings):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})


def proof(tool=CRM):
    [found] = [row.proof for row in proofs.tools() if row.name == tool]
    return found


def settled(key, state, *, days):
    """Have a request about a contact end in a state, some days later."""
    request = external.asked(external.contact(key))
    Request.objects.filter(pk=request.pk).update(state=state, state_at=later(days=days))
    Effect.objects.filter(pk=request.effect_id).update(state=state, state_at=later(days=days))


def elsewhere(url="https://crm.example/api"):
    """Move the target, past the look-up of its name, which tests may not make."""
    Target.objects.update(base_url=url)


def test_the_last_real_outcome_decides_and_a_persons_word_proves_nothing():
    external.registered(WHERE)
    external.contact()
    assert (proof().came, str(proof().outcome), proof().is_proven) == (Came.NEVER, "Never used: unproven", False)
    settled("a", EffectState.ATTESTED, days=1)
    assert proof().came is Came.NEVER
    settled("b", EffectState.COMPENSATING, days=2)
    assert str(proof().outcome) == "Accepted on 2 Dec 2026; what became of it is not known here"
    assert str(proof().before) == "It was never seen to work"
    settled("c", EffectState.COMPENSATED, days=3)
    elsewhere()
    assert (str(proof().outcome), proof().before, proof().is_proven) == ("Worked on 3 Dec 2026", None, True)
    settled("d", EffectState.REFUSED, days=4)
    assert (proof().came, proof().is_proven) == (Came.REFUSED, False)
    assert str(proof().outcome) == "Last failed, on 4 Dec 2026: the target refused"
    assert str(proof().before) == "It worked on 3 Dec 2026"
    settled("e", EffectState.UNKNOWN, days=5)
    assert str(proof().outcome) == "Last failed, on 5 Dec 2026: no usable answer came"


def test_against_a_sandbox_it_says_so_and_another_declaration_is_unproven_again():
    external.registered(WHERE)
    settled("a", EffectState.COMPENSATED, days=1)
    assert str(proof().outcome) == "Worked on 1 Dec 2026, against a sandbox on this machine only"
    assert not proof().is_proven
    contract = proof().contract
    changed = Contract(
        revoke_class=RevokeClass.EXTERNAL, target=contract.target, compensations={"create": "DELETE /c/{id}"}
    )
    declare_tool(name=CRM, contract=changed, by=actors.system("test"), now=NOW)
    words = "Worked on 1 Dec 2026 against a sandbox, in version 1; unproven as declared now"
    assert str(proof().outcome) == words
    elsewhere()
    assert str(proof().outcome) == "Worked on 1 Dec 2026 as declared in version 1; unproven as declared now"


def test_a_local_revoke_counts_and_what_nothing_serves_has_no_entry_point(monkeypatch):
    group = factories.project(planner())
    assert str(proof("project.create").entry.words) == "An adapter serves project, task"
    revoke(groups=[group.pk], by=person("alice"), now=later(days=2), reason="", trigger=Trigger.CLICK)
    assert (proof("project.create").is_proven, proof("project.create").reach) == (True, Reach.HERE)
    monkeypatch.delitem(ADAPTERS, "task")
    assert proof("project.create").entry.there is False
    assert str(proof("project.create").entry.words) == "No: nothing here can take back task"


def test_the_way_there_and_how_far_it_gets_are_what_is_set_up_now(settings):
    external.contact(status="/contacts/{id}")
    assert str(proof().entry.words) == "No: no admin has registered crm.example"
    assert (proof().reach, str(proof().reach_words)) == (Reach.CONFIRMABLE, "Confirmable by asking at /contacts/{id}")
    external.registered(WHERE)
    assert proof().entry.there
    assert str(proof().reach_words) == "Confirmable by callback, and by asking at /contacts/{id}"
    targets.disable(name="crm.example", by=person("admin"), now=NOW)
    assert str(proof().entry.words) == "No: crm.example is disabled"
    targets.enable(name="crm.example", by=person("admin"), now=NOW)
    settings.TARGET_HOSTS = frozenset()
    assert "No: the host of crm.example may not be called (127.0.0.1: without TLS" in str(proof().entry.words)
    Target.objects.update(callback_secret="", base_url="https://crm.example")
    external.contact(status="")
    assert proof().reach is Reach.REQUESTED
    assert entry(EntryFacts(revoke_class=RevokeClass.EXTERNAL)).there is False


def test_the_proofs_of_many_tools_cost_what_those_of_one_do():
    def cost():
        with CaptureQueriesContext(connection) as asked:
            shown = proofs.tools()
            assert [tool.proof.outcome for tool in shown]
        return len(shown), len(asked)

    external.registered(WHERE)
    settled("a", EffectState.REFUSED, days=1)
    few, once = cost()
    for number in range(20):
        contract = Contract(revoke_class=RevokeClass.NONE, reason=f"no {number}")
        declare_tool(name=f"t{number}", contract=contract, by=actors.system("test"), now=NOW + timedelta(days=number))
    many, again = cost()
    assert (many, again) == (few + 20, once)
    assert once <= 6
