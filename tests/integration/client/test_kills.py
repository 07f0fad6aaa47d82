"""Is an agent killed at any line of a call survived: nothing absent, nothing claimed that did not happen?

The agent runs in a process without Django. For each line that a call goes through, of its own and of the client, it
makes a child that is killed by SIGKILL right before that line. What its tool wrote stands in a file, as in another
system; the console has to agree with that file.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from sideeffects.client import Console
from sideeffects.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).parents[3]

AGENT = """
import importlib.util, os, signal, sys

spec = importlib.util.spec_from_file_location("client", sys.argv[1])
client = importlib.util.module_from_spec(spec)
sys.modules["client"] = client
spec.loader.exec_module(client)
url, secret, wrote = sys.argv[2:]

def work(number):
    console = client.Console(url, secret)
    with console.call("crm.create_contact", {"n": number}, conversation="c1", run=str(number)) as call:
        with open(wrote, "a") as there:
            there.write(f"{number}\\n")
        call.returned(number)
        call.declare([{"type": "contact", "id": f"c_{number}", "operation": "create"}])
    return call

def killed_before(place, number):
    seen, here = set(), [0]
    def trace(frame, event, _argument):
        if frame.f_code.co_filename not in {"<string>", spec.origin}:
            return None
        if event == "line":
            if frame.f_code is work.__code__:
                here[0] = frame.f_lineno  # the same line of the client counts again for each line of the agent
            seen.add((frame.f_lineno, here[0]))
            if len(seen) > place:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)
    work(number)
    sys.settrace(None)

place, alive = 0, False
while not alive:
    child = os.fork()
    if not child:
        killed_before(place, place)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    alive = os.WIFEXITED(status)
    place += 1
print(place)
"""


def test_an_agent_killed_at_any_line_leaves_what_the_console_shows_right(secret, live_server, tmp_path):
    wrote = tmp_path / "wrote"
    wrote.touch()
    words = [str(ROOT / "sideeffects" / "client.py"), live_server.url, secret, str(wrote)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", AGENT, *words], capture_output=True, text=True, check=True, timeout=120
    )
    places = int(done.stdout)
    ran = {int(line) for line in wrote.read_text().split()}
    shown = {int(group["run"]): group for group in Console(live_server.url, secret).groups()}
    held = {int(row.group.run): row.object_id for row in Effect.objects.select_related("group")}
    assert places > 50
    for number in range(places):
        group = shown.get(number)
        assert group or number not in ran  # whatever wrote is there
        assert not group or (group["state"], group["standing"]) in {("open", "in flight"), ("landed", "standing")}
        if group and group["state"] == "landed":
            assert number in ran
            assert (group["declared"], held[number]) == (1, f"c_{number}")
    assert [number in ran for number in range(places)] == sorted(number in ran for number in range(places))
    ends = [shown[number]["state"] if number in shown else "" for number in range(places)]
    assert ends == sorted(ends, key=["", "open", "landed"].index)  # each line later, never less is known
    assert ends.count("landed") > 2  # killed after the answer, and not at all
    assert ends.count("open") > len(ends) - min(ran) - ends.count("landed") > 2  # killed before the tool, and after it
