"""What do these tests share? A fake target that a test decides for, and the real sandbox wired to the product."""

from functools import partial

import pytest

from sideeffects.identity import signer_of
from sideeffects.services import keys
from tests.external import SECRET, WORKER, clock, registered
from tests.fakes import serving
from tests.sandbox import running, until


@pytest.fixture
def fake(settings):
    """Give a target that accepts everything until a test decides otherwise."""
    with serving(lambda _seen: (202, {}, b"")) as running_:
        settings.TARGET_HOSTS = frozenset({running_.host})
        settings.TARGET_SECONDS = 1
        yield running_


@pytest.fixture(scope="session")
def sandbox_process(live_server):
    """Give the sandbox as a process beside a real server, whose keys it fetches and which it calls back."""
    with running(
        f"{live_server.url}/.well-known/jwks.json",
        callback=f"{live_server.url}/api/v1/callbacks/crm.example",
        secret=SECRET,
        settle_after=3600,
    ) as process:
        yield process


@pytest.fixture
def crm(sandbox_process, transactional_db, settings):
    """Give the sandbox as the registered target crm.example, the only host that is excepted; work settles when told."""
    known = signer_of(keys.active(by=WORKER, now=clock())).token({})
    until(partial(knows_the_key, sandbox_process, known))  # a console that loads answers late for a second or two
    settings.TARGET_HOSTS = frozenset({sandbox_process.host})
    settings.TARGET_SECONDS = 4  # far above what an answer takes, however busy the machine
    registered(sandbox_process.url, now=clock())
    yield sandbox_process
    sandbox_process.forget()  # no callback comes in once the tables are emptied


def knows_the_key(sandbox, token):
    """Say whether the sandbox judges a token by more than its key."""
    answer = sandbox.ask("GET", "/contacts/none", Authorization=f"Bearer {token}")
    return answer.status == 401 and answer.body["reason"].startswith("it has no ")
