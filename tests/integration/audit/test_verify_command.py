"""What does `verify_audit` say, and with which exit code?"""

import json
from io import StringIO

import pytest
import time_machine
from django.core.management import call_command

from audit.models import Record
from tests.entries import granted, sealed, write
from tests.factories import later

pytestmark = [pytest.mark.both, pytest.mark.django_db]


def run(*arguments):
    said = StringIO()
    with pytest.raises(SystemExit) as left:
        call_command("verify_audit", *arguments, stdout=said)
    return left.value.code, said.getvalue()


def test_a_consistent_log_exits_0_and_does_not_call_itself_valid():
    sealed(3)
    code, said = run()
    assert code == 0
    assert said.startswith("Consistent: all 3 sealed records")
    assert "replaced as a whole" in said
    assert "valid" not in said.lower()


def test_a_broken_log_exits_1_and_names_the_first_bad_record(tampering):
    records = sealed(3)
    with tampering():
        Record.objects.filter(pk__gte=records[1].pk).update(actor="user:eve")
    code, said = run()
    assert code == 1
    assert said.startswith("Broken: lookup altered, first at record 1")
    assert str(records[1].uid) in said


def test_an_empty_log_exits_2():
    code, said = run()
    assert code == 2
    assert said.startswith("Cannot tell")
    write(granted())
    assert run()[0] == 2


def test_json_holds_the_figures():
    sealed(2)
    write(granted(), now=later(minutes=-2))
    with time_machine.travel(later(), tick=False):
        code, said = run("--json")
    facts = json.loads(said)
    assert code == 0
    assert facts["verdict"] == "consistent"
    assert (facts["log"], facts["size"], facts["checked"], facts["unsealed"]) == ("main", 2, 2, 1)
    assert facts["oldest_unsealed_seconds"] == 120
    assert (facts["kind"], facts["seq"], facts["uid"]) == (None, None, None)
    assert len(facts["head"]) == 64


def test_another_log_can_be_named():
    sealed(1)
    assert run("--log", "demo")[0] == 2
