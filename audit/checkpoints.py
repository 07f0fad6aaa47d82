"""Who signs the head of the log, and what is never signed? The signer trusts neither the database nor the sealer.

It has its key and its memory (size, root, peaks of the tree) outside the database, hashes the bodies again, derives the
root twice, by its memory and by the stored hashes, and signs only what begins with what it signed before: never two
roots for one size. The memory is on disk before a checkpoint leaves.
"""

import logging
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from hashlib import sha256

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from audit import log as the_log
from audit import merkle, note, outside, tree
from audit.events import Party
from audit.models import Checkpoint, Seal
from audit.outside import Memory
from audit.snapshot import snapshot

ROWS = 500
LEAST = timedelta(seconds=2)  # between two checkpoints asked for by revocations; the schedule finds what that leaves
logger = logging.getLogger(__name__)


class NotAnExtensionError(Exception):
    """The log does not begin with what was signed before; nothing was signed."""

    def __init__(self, log: str, signed: int, size: int) -> None:
        self.log, self.signed, self.size = log, signed, size
        super().__init__(f"the log {log} ({size} records) does not begin with the {signed} records that were signed")


class RootsDifferError(Exception):
    """The bodies and the stored hashes lead to different roots; nothing was signed."""

    def __init__(self, log: str, size: int) -> None:
        self.log, self.size = log, size
        super().__init__(f"the bodies and the stored hashes of the log {log} lead to different roots at size {size}")


class EpochNotNeededError(Exception):
    """The log begins with what was signed: there is no reason for a new epoch."""

    def __init__(self, log: str) -> None:
        self.log = log
        super().__init__(f"the log {log} begins with what was signed of it; a new epoch is for a restored backup")


REFUSALS = (NotAnExtensionError, RootsDifferError, EpochNotNeededError, outside.MemoryLostError)


@dataclass(frozen=True)
class Kept:
    """The last checkpoint that the database knows, which is nobody's proof by itself."""

    origin: str
    size: int
    root: str
    note: str
    key: str
    published_at: datetime


_KEPT = [field.name for field in fields(Kept)]


def latest(log: str | None = None) -> Kept | None:
    """Return the last checkpoint that was published, if there is one."""
    row = Checkpoint.objects.filter(log=log or settings.AUDIT_LOG).order_by("-id").values_list(*_KEPT).first()
    return Kept(*row) if row else None


def newest(count: int) -> list[Kept]:
    """Return the last checkpoints, newest first."""
    rows = Checkpoint.objects.filter(log=settings.AUDIT_LOG).order_by("-id").values_list(*_KEPT)
    return [Kept(*row) for row in rows[:count]]


def sign_what_is_new(log: str | None = None, *, now: datetime) -> None:
    """Sign where something is new and the last checkpoint is not of this moment; a refusal is loud, not raised."""
    name = log or settings.AUDIT_LOG
    last = latest(name)
    if last and timedelta(0) <= now - last.published_at < LEAST:
        return
    try:
        sign(name, now=now)
    except REFUSALS as error:
        logger.error("no checkpoint was signed: %s", error)  # noqa: TRY400  (the sentence says all)


def sign(log: str | None = None, *, now: datetime) -> Kept | None:
    """Sign and publish the head of the sealed log, unless it is signed; None where nothing was ever sealed.

    Takes up what a crash left half done. Raises NotAnExtensionError, RootsDifferError: then nothing was signed.
    """
    name = log or settings.AUDIT_LOG
    with outside.locked(name):
        memory = outside.remember(name)
        signers = outside.keys(name, memory.name)
        grown = _grown(name, memory)
        if grown.size > memory.size:
            head = note.Head(memory.origin, grown.size, grown.root)
            signed = note.sign(str(head), *signers)
            peaks = [peak.hex() for peak in grown.peaks]
            told = not settings.CHECKPOINT_HOOK
            memory = replace(memory, size=head.size, root=head.root.hex(), peaks=peaks, note=signed, told=told)
            outside.keep(name, memory)
        if memory.size:
            _publish(name, memory, signers, now)
    return latest(name)


def _grown(log: str, memory: Memory) -> merkle.Frontier:
    """Return the tree above all sealed records, derived twice; raises where it does not grow from what was signed."""
    with snapshot():
        last: int | None = Seal.objects.filter(log=log).aggregate(last=Max("seq"))["last"]
        size = 0 if last is None else last + 1
        if size < memory.size:
            raise NotAnExtensionError(log, memory.size, size)
        stored = tree.tree_of(log, size)
        if _root(stored, log, memory.size) != bytes.fromhex(memory.root):
            raise NotAnExtensionError(log, memory.size, size)
        grown = memory.frontier
        bodies = Seal.objects.filter(log=log, seq__gte=memory.size).order_by("seq")
        for seq, body in bodies.values_list("seq", "record__body").iterator(chunk_size=ROWS):
            if seq != grown.size:
                raise RootsDifferError(log, size)
            grown.add([sha256(b"\x00" + body.encode()).digest()])
        if (grown.size, grown.root) != (size, _root(stored, log, size)):
            raise RootsDifferError(log, size)
    return grown


def _root(stored: merkle.Tree, log: str, size: int) -> bytes:
    try:
        return stored.root(size)
    except merkle.NoSuchProofError as error:
        raise RootsDifferError(log, size) from error


def _publish(log: str, memory: Memory, signers: list[note.Signer], now: datetime) -> None:
    """Publish what was signed last, unless that has been done: outside first, then in the database."""
    row = {"log": log, "origin": memory.origin, "size": memory.size}
    if not Checkpoint.objects.filter(**row).exists():
        verifiers = [signer.verifier for signer in signers]
        outside.publish(log, memory, verifiers)
        key = str(verifiers[0])
        Checkpoint.objects.create(**row, root=memory.root, note=memory.note, key=key, published_at=now)
    if not memory.told and outside.tell(memory):
        outside.keep(log, replace(memory, told=True))


# -- Rare events ------------------------------------------------------------------------------------------------------


def rotate_key(log: str | None = None, *, by: Party, now: datetime) -> str:
    """Hand over to a new key and return its public half: the record of it is in a checkpoint that both have signed."""
    name = log or settings.AUDIT_LOG
    sign(name, now=now)
    with outside.locked(name):
        old = outside.keys(name, outside.remember(name).name)[0]
        new = outside.make_next(name, old.name)
    data = {"before": str(old.verifier), "after": str(new.verifier)}
    _record(the_log.Entry("log_key_rotated", ("log", name), by, None, data), name, now)
    sign(name, now=now)
    with outside.locked(name):
        outside.hand_over(name)
        outside.publish(name, outside.remember(name), [new.verifier])
    return str(new.verifier)


def begin_epoch(log: str | None = None, *, reason: str, by: Party, now: datetime) -> Kept | None:
    """Go on after a restored backup: sign the log under a new origin, with the last checkpoint of the old one in it.

    Whoever holds a checkpoint of the epoch before still sees that the log does not lead to it; the record says why.
    """
    name = log or settings.AUDIT_LOG
    the_log.seal(name)
    with outside.locked(name):
        memory = outside.remember(name)
        if _still_leads_to(name, memory):
            raise EpochNotNeededError(name)
        data = {"epoch": memory.epoch + 1, "checkpoint": memory.note, "reason": reason}
        _record(the_log.Entry("log_epoch_began", ("log", name), by, None, data), name, now)
        outside.keep(name, Memory(name=memory.name, epoch=memory.epoch + 1))
    return sign(name, now=now)


def _still_leads_to(log: str, memory: Memory) -> bool:
    try:
        _grown(log, memory)
    except NotAnExtensionError:
        return False
    return True


def _record(entry: the_log.Entry, log: str, now: datetime) -> None:
    with transaction.atomic():
        the_log.append([entry], now=now)
    the_log.seal(log)
