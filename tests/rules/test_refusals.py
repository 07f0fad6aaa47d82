"""Is every error of ours either answered in words, or known to be a fault?"""

import importlib
import pkgutil
from collections.abc import Iterator

import audit
import plans
import sideeffects
from config.errors import TABLE, refusal_of
from sideeffects.services.refuse import name_of

# What only a mistake of ours can raise; it becomes a 500, is logged, and tells nothing.
FAULTS = {
    "audit.chain.BadBodyError",
    "audit.bodies.EntryTooLongError",
    "audit.events.UnknownEventError",
    "audit.events.WrongFieldsError",
    "audit.log.OutsideTransactionError",
    "sideeffects.carrier.TooLateError",  # its lease runs out, and then it is claimed again
    "sideeffects.identity.CannotSignError",  # a worker says "not sent yet" instead
    "sideeffects.targets.registry.AdapterRegisteredTwiceError",
    "sideeffects.services.hold.NotAsWrittenError",  # inside a tool's run: the tool has failed
    "sideeffects.tools.ToolRefusesError",  # a call that runs here says so
    "sideeffects.tools.RowsNotThereError",  # likewise
    "sideeffects.tools.ToolRegisteredTwiceError",
    "sideeffects.vault.CannotOpenError",  # the key secret is not the one it was closed with
}
# What only a command raises, which says it on its own line.
COMMANDS = {
    "audit.checkpoints.EpochNotNeededError",
    "audit.checkpoints.NotAnExtensionError",
    "audit.checkpoints.RootsDifferError",
    "audit.outside.MemoryLostError",
    "sideeffects.services.take_in.ToolsOfThisConsoleError",
    "sideeffects.toolfiles.BadToolFileError",
}
# What never leaves the log: each becomes a verdict, or a checkpoint that proves nothing.
CAUGHT = {
    "audit.note.BadNoteError",
    "audit.note.UnsignedError",
    "audit.verify_offline.CannotTellError",
    "audit.verify_offline.NotProvenError",
    "audit.walk.OutOfTimeError",
    "sideeffects.services.batch_work.BatchVoidError",  # why a batch stopped itself
    "sideeffects.services.fence.FenceVoidError",  # why a fence did not fire: it becomes the fence's detail
}
# What only an agent meets, in whose process the client runs.
AGENTS = {
    "sideeffects.client.CallError",
    "sideeffects.client.CalledBeforeError",
    "sideeffects.client.ClientError",
    "sideeffects.client.DeclarationDiffersError",
    "sideeffects.client.NotAnnouncedError",
    "sideeffects.client.NotDeclaredError",
    "sideeffects.client.NotLandedError",
    "sideeffects.client.ProblemError",
    "sideeffects.client.StepNotReportedError",
    "sideeffects.client.UnreachableError",
}
SHARED = {"not-found", "too-large"}  # names that ours share with a framework's


def errors() -> Iterator[type[Exception]]:
    """Yield every error class that a service, a face or what they use may raise."""
    for package in (audit, plans, sideeffects):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".migrations" not in module.name:
                for item in vars(importlib.import_module(module.name)).values():
                    if isinstance(item, type) and issubclass(item, Exception) and item.__module__ == module.name:
                        yield item


def test_every_error_is_answered_or_known_to_be_a_fault():
    known = {f"{cls.__module__}.{cls.__name__}": cls for cls in errors() if not cls.__name__.startswith("_")}
    assert len(known) > 30
    unanswered = {name for name, cls in known.items() if refusal_of(cls.__new__(cls)) is None}
    assert unanswered == (FAULTS | COMMANDS | CAUGHT | AGENTS) & known.keys()


def test_errors_are_called_the_same_in_answers_and_on_the_log():
    for cls, refusal in TABLE.items():
        if cls.__module__.split(".")[0] in {"audit", "plans", "sideeffects"}:
            assert refusal.slug in {name_of(cls), *SHARED}


def test_errors_end_in_error():
    assert [cls.__name__ for cls in errors() if not cls.__name__.endswith("Error")] == []
