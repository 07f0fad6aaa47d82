"""How does a record read? One honest sentence per event; whatever others wrote is made inert."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from audit.events import CATALOGUE
from audit.filters import Cursor
from audit.inert import visible
from audit.queries import Found
from audit.verify import BROKEN, CANNOT_TELL, CONSISTENT, VERIFIED, Verdict

Words = Mapping[str, str]
NONE = "\N{EN DASH}"  # stands in a cell that holds nothing


# -- Sentences ----------------------------------------------------------------------------------------------------
# Each takes the words of `_words`: the parties, the target, the outcome, and every plain field of the data.


def _settled(words: Words) -> str:
    known = {
        "requested": _("{target}, asked by {asked_by}: the target accepted; the outcome is there ({counts})."),
        "confirmed": _("{target}, asked by {asked_by}: the target says that it is undone ({counts})."),
        "refused": _("{target}, asked by {asked_by}: the target refused ({counts})."),
        "unknown": _("{target}, asked by {asked_by}: it may or may not have arrived ({counts})."),
        "attested": _("{target}, asked by {asked_by}: a person attests that it is undone ({counts})."),
    }
    return known.get(words["outcome"], _("{target}, asked by {asked_by}: a member settled; now {outcome} ({counts})."))


def _compensate(words: Words) -> str:
    if words.get("settles") == "true":
        return _settled(words)
    known = {
        "revoked": _("{actor} had {target} revoked: {counts}."),
        "requested": _("{actor} asked to revoke {target}: the request was accepted, the outcome is there ({counts})."),
        "confirmed": _("{actor} asked to revoke {target}: the target system says it is undone ({counts})."),
        "not sent": _("{actor} asked to revoke {target}: the request has not been sent yet ({counts})."),
        "refused": _("{actor} asked to revoke {target}: its target refused ({counts})."),
        "unknown": _("{actor} asked to revoke {target}: the request may or may not have arrived ({counts})."),
        "attested": _("{target}: a person attests that it is undone ({counts})."),
        "already gone": _("{actor} asked to revoke {target}: it was already gone, not by this ({counts})."),
        "not revocable": _("{actor} asked to revoke {target}: nothing of it is revocable ({counts})."),
    }
    return known.get(words["outcome"], _("{actor} asked to revoke {target}. Outcome: {outcome} ({counts})."))


def _resolved(words: Words) -> str:
    known = {
        "adopt": _("{actor} adopted what a repeat of {tool} declared: {joined} joined, {changed} changed."),
        "split": _("{actor} had a repeat of {tool} stand by itself, in group {stands_in}."),
        "dismiss": _("{actor} dismissed a repeat of {tool} that declared {declared}, held are {held}: {reason}."),
    }
    return known.get(words["resolution"], _("{actor} decided about a repeat of {tool}: {resolution}."))


def _batch_started(words: Words) -> str:
    if words.get("kind") == "restore":
        return _("{actor} asked to restore what {of} had taken back: {groups} actions, {effects} members.")
    return _("{actor} asked to revoke {groups} actions together, {effects} members.")


SENTENCES: dict[str, Callable[[Words], str]] = {
    "COMPENSATE": _compensate,
    "group_opened": lambda _w: _("{actor} began {tool}; the call has not landed."),
    "group_landed": lambda _w: _("{tool} by {actor} landed: {members} declared, first {target} ({source})."),
    "call_failed": lambda _w: _("{actor} says that {tool} failed: nothing was written."),
    "call_lost": lambda _w: _("{actor} does not know what became of {tool}."),
    "call_refused": lambda _w: _("{tool} by {actor} was refused before anything happened ({reason})."),
    "declaration_differed": lambda _w: _("{actor} repeated {tool} and declared something else than what is held."),
    "conflict_resolved": _resolved,
    "group_split": lambda _w: _(
        "{actor} had a repeat of {tool} stand by itself: {members} declared by {declared_by}, first {target}."
    ),
    "batch_started": _batch_started,
    "batch_stopped": lambda _w: _("{actor} stopped {target} ({kind}), {waiting} actions were waiting: {reason}."),
    "batch_resumed": lambda _w: _("{actor} had {target} ({kind}) go on with the {waiting} actions that waited."),
    "batch_retried": lambda _w: _("{actor} had {again} actions of {target} ({kind}) tried again."),
    "batch_finished": lambda _w: _("{actor} came to the end of {target} ({kind}): {groups}."),
    "fence_set": lambda _w: _("{actor} had {tool} fenced: it is to be revoked when it arrives."),
    "fence_lifted": lambda _w: _("{actor} lifted the fence of {tool} that {set_by} had set."),
    "fence_ended": lambda _w: _("{actor} ended the fence of {tool} that {set_by} had set: {result} ({detail})."),
    "revoke_refused": lambda _w: _("{actor} asked to revoke {target} and was refused ({refusal}); nothing changed."),
    "restore_refused": lambda _w: _("{actor} asked to restore {target} and was refused ({refusal}); nothing changed."),
    "restored": lambda _w: _("{actor} restored what the revocation of {target} had removed: {counts}."),
    "purge_announced": lambda _w: _(
        "{actor} announced that {objects} from the revocation of {target} go for good at {purge_at}."
    ),
    "trash_purged": lambda _w: _("{actor} purged what the revocation of {target} had kept in the trash: {counts}."),
    "purge_held": lambda _w: _("{actor} could not purge what the revocation of {target} keeps in the trash: {why}."),
    "plan_accepted": lambda _w: _("{actor} proposed the plan {saga}: accepted ({signature}, {warnings} warnings)."),
    "plan_refused": lambda _w: _("{actor} proposed a plan ({saga}): refused by {rules}; it is kept."),
    "execution_started": lambda _w: _("{actor} began to carry out the plan {saga}, {steps} steps."),
    "step_begun": lambda _w: _("{actor} began step {step} ({tool}); {reserved} EUR are reserved."),
    "step_refused": lambda _w: _("{actor} was refused step {step} ({refusal}): “{said}”."),
    "step_completed": lambda _w: _("{actor} says that step {step} ({tool}) is completed (late: {late})."),
    "step_failed": lambda _w: _("{actor} says that step {step} ({tool}) failed."),
    "approval_asked": lambda _w: _("{actor} asked a person to approve step {step} ({tool}) by {deadline}."),
    "approval_given": lambda _w: _("{actor} approved step {step} ({tool})."),
    "approval_declined": lambda _w: _("{actor} declined step {step} ({tool})."),
    "execution_perishing": lambda _w: _(
        "{actor} found the undo window of step {step} about to close, at {closes_at}, before the pivot."
    ),
    "execution_unrecoverable": lambda _w: _(
        "{actor} found the undo window of step {step} closed, since {closes_at}, before the pivot."
    ),
    "rollback_asked": lambda _w: _("{actor} had {target} rolled back: {steps} steps were completed."),
    "step_undone": lambda _w: _("{actor} had step {step} ({tool}) taken back. Outcome: {outcome}."),
    "stop_asked": lambda _w: _("{actor} had {target} stopped past its pivot: what is done stands."),
    "execution_ended": lambda _w: _("{actor} brought {target} to its end: {outcome}."),
    "agent_key_registered": lambda _w: _("{actor} registered a key for the agent {agent} to sign with."),
    "agent_key_withdrawn": lambda _w: _("{actor} withdrew a key of the agent {agent}."),
    "asked_again": lambda _w: _("{actor} had {system} asked once more about {target}."),
    "attested": lambda _w: _("{actor} attests that {target} is undone ({reason}): “{evidence}”."),
    "person_needed": lambda _w: _("{actor} found that {target} needs a person: {detail} ({tries} tries)."),
    "callback_heard": lambda _w: _(
        "{actor} heard {system} say of {target}: {said}, since {at} (changed something: {applied})."
    ),
    "went_stale": lambda _w: _("{actor} flagged {target} as stale: {state} since {unchanged_since}."),
    "target_registered": lambda _w: _("{actor} registered the target {name}."),
    "target_changed": lambda _w: _("{actor} changed the target {name}; {suspended} open requests wait for an admin."),
    "target_disabled": lambda _w: _("{actor} had the target {name} not asked any more."),
    "target_enabled": lambda _w: _("{actor} let the target {name} be asked again."),
    "requests_resumed": lambda _w: _("{actor} let {requests} requests to {name} go on."),
    "key_made": lambda _w: _("{actor} made a signing key: {kid} ({state})."),
    "keys_rotated": lambda _w: _("{actor} rotated the signing keys: {active} signs from now on."),
    "tool_declared": lambda _w: _("{actor} declared the tool {tool}, version {version}."),
    "target_seen": lambda _w: _("{actor} named the target {name} for the first time ({base_url})."),
    "agent_registered": lambda _w: _("{actor} registered the agent {name}."),
    "token_created": lambda _w: _("{actor} created token {prefix}… for the agent {agent}, acting for {owner}."),
    "token_withdrawn": lambda _w: _("{actor} withdrew token {prefix}… of the agent {agent}."),
    "role_granted": lambda _w: _("{actor} granted {target} the role {role}."),
    "role_withdrawn": lambda _w: _("{actor} withdrew the role {role} from {target}."),
    "log_exported": lambda _w: _("{actor} exported the log: {size} records, as {form}."),
    "log_key_rotated": lambda _w: _("{actor} replaced the key that signs the log."),
    "log_epoch_began": lambda _w: _("{actor} began epoch {epoch} of the log after a restored backup: {reason}."),
    "log_verified": lambda _w: _("{actor} had the log verified: {verdict}, {checked} of {size} records checked."),
}


class _Known(dict[str, str]):
    """Words by name; a field that an old record does not hold is said to be unknown."""

    def __missing__(self, _name: str) -> str:
        return _("unknown")


def sentence(body: Mapping[str, Any]) -> str:
    """Return what a record says, in one sentence."""
    words = _words(body)
    known = SENTENCES.get(body["action"])
    return known(words).format_map(words) if known else _("An event that this version does not know.")


def body_of(found: Found) -> dict[str, Any] | None:
    """Return what the stored bytes say, or None where someone altered them until they were no record any more."""
    try:
        body: dict[str, Any] = json.loads(found.record.body)
        sentence(body)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return body


def _words(body: Mapping[str, Any]) -> _Known:
    data = {name: _plain(value) for name, value in body["data"].items()}
    target, owner = body["target"], body["owner"]
    return _Known(
        data,
        actor=party(body["actor"]),
        owner=party(owner) if owner else _("nobody"),
        target=visible(f"{target['type']} {target['id']}"),
        outcome=visible(body["outcome"] or _("none")),
    )


def party(body: Mapping[str, str]) -> str:
    """Return a party in words: a person by name, anything else with what it is."""
    name = visible(body["name"])
    kinds = {"agent": _("agent {name}"), "system": _("the system ({name})")}
    return kinds.get(body["type"], "{name}").format(name=name)


def _plain(value: Any) -> str:
    """Return a field in a few words: counts by name, lists by their length."""
    if isinstance(value, list):
        return str(len(value))
    if isinstance(value, dict):
        return ", ".join(f"{visible(count)} {visible(name)}" for name, count in value.items()) or _("none")
    return visible("" if value is None else value)


# -- One record ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A record in a list, ready to show."""

    uid: str
    seq: int | None
    action: str
    sentence: str
    part: str
    actor: str
    owner: str
    target: str
    outcome: str
    occurred_at: datetime


@dataclass(frozen=True)
class DataField:
    """A field of a record's data: what it is called and means, and its value as text or as a table."""

    name: str
    meaning: str
    text: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def line(found: Found) -> Line:
    """Return a record as one line of a list; what its bytes do not tell any more, the columns may."""
    row, body = found.record, body_of(found)
    part = body["part"] if body else None
    return Line(
        uid=str(row.uid),
        seq=found.seq,
        action=visible(row.action),
        sentence=sentence(body) if body else _("Altered: the stored bytes are no record. Have the log verified."),
        part=_("part {number} of {of}").format(**part) if part else "",
        actor=party(body["actor"]) if body else visible(row.actor),
        owner=party(body["owner"]) if body and body["owner"] else visible(row.owner),
        target=visible(f"{row.target_type} {row.target_id}"),
        outcome=visible(row.outcome),
        occurred_at=row.occurred_at,
    )


def data_of(found: Found) -> list[DataField]:
    """Return the data of a record, field by field, in the catalogue's order."""
    data = (body_of(found) or {"data": {}})["data"]
    meanings = CATALOGUE[found.record.action].fields if found.record.action in CATALOGUE else {}
    names = [name for name in meanings if name in data] + sorted(data.keys() - meanings.keys())
    return [_field(name, meanings.get(name, ""), data[name]) for name in names]


def _field(name: str, meaning: str, value: Any) -> DataField:
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        columns = tuple(dict.fromkeys(key for item in value for key in item))
        rows = tuple(tuple(_cell(item.get(column)) for column in columns) for item in value)
        return DataField(visible(name), meaning, columns=tuple(map(visible, columns)), rows=rows)
    return DataField(visible(name), meaning, text=_cell(value))


def _cell(value: Any) -> str:
    """Return a value as text that can do nothing."""
    if value is None or value == "":
        return NONE
    if isinstance(value, str | int) and not isinstance(value, bool):
        return visible(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return visible(", ".join(value)) or NONE
    return visible(json.dumps(value, ensure_ascii=False))


def address(query: Mapping[str, str], older: Cursor | None) -> str:
    """Return the address of the next page of the same search, empty where there is none."""
    if older is None:
        return ""
    given = {name: value for name, value in query.items() if value and name != "cursor"}
    return f"?{urlencode({**given, 'cursor': str(older)})}"


# -- Verdicts -----------------------------------------------------------------------------------------------------


def verdict_words(verdict: Verdict, now: datetime) -> str:
    """Return a verdict in full sentences, with what it does not say."""
    return " ".join([*_result(verdict), *_newer(verdict), _waiting(verdict, now)])


def _result(verdict: Verdict) -> list[str]:
    done = {"checked": verdict.checked, "size": verdict.size, "log": verdict.log}
    if verdict.verdict == BROKEN and verdict.fault:
        fault = verdict.fault
        where = _("record {seq}").format(seq=fault.seq) if fault.seq is not None else _("a record without a place")
        uid = f" ({fault.uid})" if fault.uid else ""
        head = _("Broken: {kind}, first at {where}{uid}.").format(kind=fault.kind, where=where, uid=uid)
        return [
            head,
            _("There: {detail}.").format(detail=visible(fault.detail)),
            _("Before it {checked} were good.").format(**done),
        ]
    if verdict.verdict == CANNOT_TELL and not verdict.size:
        return [_("Cannot tell: the log “{log}” holds no sealed record.").format(**done)]
    if verdict.verdict == CANNOT_TELL:
        so_far = _("Cannot tell: the time was over after {checked} of {size} records; nothing bad among these.")
        return [so_far.format(**done), _("The command verify_audit has no time limit.")]
    if verdict.verdict == VERIFIED:
        return _verified(verdict)
    return [
        _(
            "Consistent: all {size} sealed records of the log “{log}” agree with each other and with their chain."
        ).format(**done),
        _("This says nothing about a log that was replaced as a whole."),
    ]


def _verified(verdict: Verdict) -> list[str]:
    numbers = {"covered": verdict.covered, "since": verdict.since, "log": verdict.log}
    said = [
        _(
            "Verified: the first {covered} records of the log “{log}” are those over which the checkpoint held outside"
            " was signed, and all records agree with each other and with their chain."
        )
    ]
    if verdict.since:
        said.append(
            _("The first {since} were not read again: that the log begins with them is proven by their root alone.")
        )
    return [sentence.format(**numbers) for sentence in said]


def _newer(verdict: Verdict) -> list[str]:
    """Say how much no checkpoint covers, wherever the verdict could be taken for more than it is."""
    newer = verdict.size - verdict.covered
    if verdict.verdict not in {VERIFIED, CONSISTENT} or (verdict.verdict == CONSISTENT and not verdict.covered):
        return []
    return [
        _(
            "{number} sealed after that checkpoint are protected by nothing: nobody can tell whether there were more."
        ).format(number=newer)
    ]


def _waiting(verdict: Verdict, now: datetime) -> str:
    if not verdict.unsealed:
        return _("No record waits for its seal.")
    age = _age(verdict.oldest_unsealed_at, now)
    return _("{number} not sealed yet, the oldest for {age} s; no chain binds these.").format(
        number=verdict.unsealed, age=age
    )


def _age(at: datetime | None, now: datetime) -> int | None:
    return max(int((now - at).total_seconds()), 0) if at else None


def verdict_facts(verdict: Verdict, now: datetime) -> dict[str, Any]:
    """Return a verdict as JSON says it."""
    fault = verdict.fault
    return {
        "log": verdict.log,
        "verdict": verdict.verdict,
        "detail": verdict_words(verdict, now),
        "size": verdict.size,
        "checked": verdict.checked,
        "since": verdict.since,
        "head": verdict.head,
        "tree_root": verdict.root,
        "covered": verdict.covered,
        "unprotected": verdict.unprotected,
        "kind": fault.kind if fault else None,
        "seq": fault.seq if fault else None,
        "uid": fault.uid if fault and fault.uid else None,
        "unsealed": verdict.unsealed,
        "oldest_unsealed_seconds": _age(verdict.oldest_unsealed_at, now),
    }
