"""Which events can stand on the log, and what does each say? The catalogue; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

LONGEST = 200  # characters of who did something, as columns hold them


@dataclass(frozen=True)
class Party:
    """Who acts or owns: `type` is user, agent or system; `id` its key as text; `name` what it is called now."""

    type: str
    id: str
    name: str

    def __str__(self) -> str:
        """Return what the log is searched by, e.g. `user:alice`; rows hold it too, so a very long name is cut."""
        whole = f"{self.type}:{self.name}"
        return whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 17]}…{sha256(whole.encode()).hexdigest()[:16]}"


@dataclass(frozen=True)
class Event:
    """A kind of record: its name in the past tense, when it is written, and what each field of its data means."""

    name: str
    when: str
    fields: Mapping[str, str] = field(default_factory=dict)


class UnknownEventError(Exception):
    """The catalogue has no event of this name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no event is called {name!r}; add it to audit/events.py")


class WrongFieldsError(Exception):
    """The data of an event lacks fields, or holds fields that the catalogue does not know."""

    def __init__(self, name: str, missing: set[str], unknown: set[str]) -> None:
        self.name, self.missing, self.unknown = name, missing, unknown
        super().__init__(f"{name}: missing {sorted(missing)}, unknown {sorted(unknown)}")


_TOOL = {
    "tool": "the tool's name",
    "tool_version": "the version of its declaration that is pinned to the group",
}
_CALL = {
    **_TOOL,
    "conversation": "the conversation the call belongs to",
    "run": "the agent's own run id, empty where it gave none",
}
_PLAN = {
    "saga": "the saga's name, empty where the plan could not be read",
    "digest": "SHA-256 of the canonical plan without its signature, empty where it has no such form",
    "body_sha256": "SHA-256 of the exact bytes that were proposed",
    "signature": "unsigned, verified, unchecked (no key is registered) or wrong",
    "profile": "how strictly it was judged: default or strict",
    "rules": "how many violations each rule found",
    "warnings": "how many warnings there were",
}
_KEY = {"agent": "the agent's name", "fingerprint": "SHA-256 of the public key"}
_MEMBERS = "the members, principal first: type, id and what became of each"

_STEP = {"step": "its id", "tool": "its tool", "attempt": "which try of it, from 1"}
_BOUND = {
    "approval": "the key of the asking",
    "digest": "the digest of the plan that it is bound to",
    "step_sha256": "SHA-256 of the canonical step that it is bound to",
}
_WHY = {
    "authority": "why it was allowed: owner, admin, or agent for its owner",
    "reason": "the typed reason, empty where none was asked for",
}
_WINDOW = {"step": "the step whose window it is", "closes_at": "when it closes", "since": "from when on this was so"}

_EVENTS = (
    # -- What agents did ----------------------------------------------------------------------------------------
    Event("group_opened", "A call was announced or began; it has not landed.", _CALL),
    Event(
        "group_landed",
        "A call landed: what it declares to have written is held.",
        {
            **_CALL,
            "source": "executed (here), reported (by the agent) or imported",
            "generation": "0, or higher where the same call was recorded again after a revoke",
            "members": "the declared members, principal first: type, id, operation, class",
        },
    ),
    Event("call_failed", "The agent says that a call failed: nothing was written.", {**_CALL, "error": "its words"}),
    Event("call_lost", "The agent says that it does not know what became of a call.", {**_CALL, "error": "its words"}),
    Event(
        "call_refused",
        "A call was refused before anything happened.",
        {
            "tool": "the tool's name as asked",
            "conversation": "the conversation the call belongs to",
            "reason": "why, as the code of the refusal",
        },
    ),
    Event(
        "declaration_differed",
        "A repeat of a call declared something else than what is held: the first is kept, the second stands beside it.",
        {
            **_CALL,
            "declaration": "the key of the stored declaration",
            "only_held": "members that only the first declared",
            "only_declared": "members that only the repeat declared",
            "changed": "members that both declared, differently",
        },
    ),
    Event(
        "conflict_resolved",
        "A person decided about a declaration that differs from what is held.",
        {
            **_CALL,
            "declaration": "the key of the declaration decided about",
            "resolution": "adopt (what only it declared joins), split (a group of its own) or dismiss",
            "authority": "owner or admin",
            "reason": "the typed reason, empty where none was asked for",
            "declared": "how many members it declared; of what was not kept, how often that was",
            "held": "how many members were held until then",
            "joined": "the members that joined the group: type, id, operation, class",
            "changed": "the members that took another version, each as first declared and as declared by the repeat",
            "stands_in": "the group that it stands in by itself, empty unless it was split",
            "complete": "whether everything declared is undone from now on and nothing is undecided",
            "conflict_open": "true where another differing declaration is still undecided",
        },
    ),
    Event(
        "group_split",
        "A repeat of a call stands as a group of its own, since the call was made twice.",
        {
            **_CALL,
            "source": "executed (here), reported (by the agent) or imported",
            "generation": "which generation of the call's key it is",
            "from_group": "the group whose repeat it was",
            "declaration": "the key of the declaration that it was split by",
            "declared_by": "who had declared it",
            "members": "the declared members, principal first: type, id, operation, class",
        },
    ),
    # -- What agents proposed -----------------------------------------------------------------------------------
    Event("plan_accepted", "A plan was proposed and accepted.", _PLAN),
    Event("plan_refused", "A plan was proposed and refused; it is kept.", _PLAN),
    Event("agent_key_registered", "A public key was registered for an agent to sign with.", _KEY),
    Event("agent_key_withdrawn", "A public key was withdrawn; no new plan is verified with it.", _KEY),
    # -- What agents carried out --------------------------------------------------------------------------------
    Event(
        "execution_started",
        "An accepted plan began to be carried out.",
        {"plan": "its key", "saga": "the saga's name", "digest": "SHA-256 of the canonical plan", "steps": "how many"},
    ),
    Event(
        "step_begun",
        "A step was let begin.",
        {
            **_STEP,
            "due_at": "until when it may take, as declared; empty where nothing bounds it",
            "undo_expires_at": "until when it can be undone, as declared; empty where it declares no window",
            "reserved": "what it reserves of the mandate, in euros",
        },
    ),
    Event(
        "step_refused",
        "A step was not let begin, or a decision not taken.",
        {
            "step": "its id",
            "refusal": "why, as the code of the refusal",
            "said": "why, in words",
            "window": "the step whose undo window closes next, empty where none is open",
            "closes_at": "when it closes",
            "digest": "the digest that the execution is bound to",
            "presented": "the digest that was presented or found; empty where it is not about that",
        },
    ),
    Event(
        "step_completed",
        "A step was reported to be completed.",
        {
            **_STEP,
            "group": "the action that holds what it wrote, empty where it wrote nothing",
            "spent": "in euros by the agent's word, empty where it did not say",
            "late": "true where it took longer than declared",
        },
    ),
    Event("step_failed", "The agent says that a step failed.", {**_STEP, "reason": "its words"}),
    Event(
        "approval_asked",
        "A step waits for a person.",
        {**_STEP, **_BOUND, "deadline": "until when a decision counts; empty where nothing bounds it"},
    ),
    Event("approval_given", "A person approved a step.", {**_STEP, **_BOUND, **_WHY}),
    Event("approval_declined", "A person declined a step.", {**_STEP, **_BOUND, **_WHY}),
    Event("execution_perishing", "An undo window is about to close before the pivot has begun.", _WINDOW),
    Event("execution_unrecoverable", "An undo window has closed before the pivot has begun.", _WINDOW),
    Event(
        "rollback_asked", "An execution is to be rolled back.", {**_WHY, "steps": "how many completed steps there are"}
    ),
    Event(
        "step_undone",
        "A rollback came to a step: what it asked for, and what that came to.",
        {**_STEP, "group": "the action, empty where the step wrote nothing", "detail": "what else is known of it"},
    ),
    Event(
        "stop_asked",
        "An execution past its pivot is to go no further.",
        {**_WHY, "step": "the step that would have come next"},
    ),
    Event("execution_ended", "An execution came to its end.", {"saga": "the saga's name"}),
    # -- What people took back ----------------------------------------------------------------------------------
    Event(
        "COMPENSATE",
        "A group's revocation was done or requested, or a member of it settled.",
        {
            **_TOOL,
            "revocation": "the key of the asking",
            "trigger": "what asked: click, api, fence, batch, rollback",
            "batch": "the key of the batch that it was part of, empty where it was asked for by itself",
            "authority": "why it was allowed: owner, admin, or agent for its owner",
            "reason": "the typed reason, empty where none was asked for",
            "asked_by": "who had asked for it",
            "settles": "true where this tells what has become of members since, false where it tells of the asking",
            "overrides": "true where rows were taken back over later changes that the asker had been shown",
            "members": "the members it speaks of, principal first: type, id, class, outcome and detail of each; "
            "where it settles, only those that moved",
            "attempts": "every try at their targets: request, number, token id (jti), key (kid), what came of it",
            "counts": "how many members had each outcome",
            "complete": "true only if every member is revoked and no conflict is open",
            "conflict_open": "true where a differing declaration was undecided then",
        },
    ),
    Event(
        "revoke_refused",
        "A revoke was asked for and refused; nothing changed.",
        {
            "tool": "the tool's name",
            "reason": "the typed reason, empty where none was asked for",
            "refusal": "why, as the code of the refusal",
        },
    ),
    Event(
        "restore_refused",
        "A restore was asked for and refused; nothing changed.",
        {
            "tool": "the tool's name",
            "reason": "the typed reason, empty where none was asked for",
            "refusal": "why, as the code of the refusal",
        },
    ),
    Event(
        "restored",
        "What a revocation had removed was brought back.",
        {
            "revocation": "the key of the revocation that is undone",
            "batch": "the key of the batch that it was part of, empty where it was asked for by itself",
            "authority": "owner or admin",
            "reason": "the typed reason, empty where none was asked for",
            "members": _MEMBERS,
            "counts": "how many members had each outcome",
        },
    ),
    Event(
        "batch_started",
        "Many actions are to be taken back, or brought back, together: which ones is fixed from now on.",
        {
            "kind": "revoke or restore",
            "of": "the key of the batch that a restore undoes, empty for a revoke",
            "scope": "what was asked for: the members that were set, all of them together",
            "chosen": "how many actions were named one by one, 0 where the scope alone selects",
            "groups": "how many actions that are",
            "effects": "how many members they have",
            "leave_later": "true where an action goes though later ones build on it",
            "via": "what asked: click or api",
            **_WHY,
        },
    ),
    Event(
        "batch_stopped",
        "A batch was stopped, or stopped itself: nothing more of it is worked.",
        {"kind": "revoke or restore", "waiting": "how many actions had not had their turn", "reason": "why"},
    ),
    Event(
        "batch_resumed",
        "A stopped batch goes on where it was.",
        {"kind": "revoke or restore", "waiting": "how many actions had not had their turn", "reason": "why"},
    ),
    Event(
        "batch_retried",
        "What failed in a batch, or was kept from it by what may be otherwise now, has its turn again.",
        {"kind": "revoke or restore", "again": "how many actions that are", "reason": "why"},
    ),
    Event(
        "batch_finished",
        "Every action of a batch has had its turn; what became of each stands in its own record.",
        {
            "kind": "revoke or restore",
            "groups": "how many actions had each outcome then",
            "effects": "how many members had each outcome then",
            "asked_outside": "how many members stay with their targets, whatever is restored",
        },
    ),
    Event(
        "fence_set",
        "A call in flight is to be revoked when it arrives.",
        {
            **_CALL,
            "authority": "why it was allowed: owner, admin, or agent for its owner",
            "reason": "the typed reason, empty where none was asked for",
        },
    ),
    Event(
        "fence_lifted",
        "A person took a waiting fence away; what lands is not revoked by it.",
        {
            **_CALL,
            "set_by": "who had set it",
            "reason": "the typed reason, empty where none was asked for",
        },
    ),
    Event(
        "fence_ended",
        "The call that a fence waited for has arrived.",
        {
            **_CALL,
            "set_by": "who had set it",
            "reason": "the reason typed when it was set",
            "result": "fired (a COMPENSATE says how far it got), refused, nothing left or nothing written",
            "detail": "what to know of that",
        },
    ),
    Event(
        "purge_announced",
        "The owner is told that what a revocation keeps in the trash leaves it for good soon.",
        {
            "revocation": "the key of the revocation",
            "purge_at": "when: as fixed at the revoke, or a day after this",
            "objects": "how many",
        },
    ),
    Event(
        "trash_purged",
        "What a revocation kept in the trash was deleted for good, with its versions.",
        {
            "revocation": "the key of the revocation; it cannot be restored any more",
            "purge_at": "the date that was fixed at the revoke",
            "announced_at": "when it was announced",
            "members": "what was deleted: type and id, and what was absent already",
            "counts": "how many of each type",
        },
    ),
    Event(
        "purge_held",
        "What a revocation keeps in the trash cannot leave it, and stays past its date.",
        {"revocation": "the key of the revocation", "why": "what keeps it"},
    ),
    Event(
        "asked_again",
        "A person had a target asked once more.",
        {
            "request": "the key of the request that goes on",
            "before": "the key of the request until then; another one where the target had refused it",
            "system": "the target's name",
            "reason": "the typed reason, empty where none was asked for",
        },
    ),
    Event(
        "attested",
        "A person gave their word for what became of an object in a target.",
        {
            "request": "the key of the request",
            "system": "the target's name",
            "was": "where it stood until then",
            "reason": "what the word rests on: seen, told, by hand or other",
            "evidence": "the person's words",
        },
    ),
    Event(
        "person_needed",
        "Nothing about a request happens by itself any more.",
        {
            "request": "the key of the request",
            "system": "the target's name",
            "detail": "what came last",
            "tries": "how many tries reached for the target",
            "attempts": "every try so far: request, number, token id (jti), key (kid), what came of it",
        },
    ),
    Event(
        "callback_heard",
        "A target sent a signed word about a request.",
        {
            "system": "the target's name",
            "request": "the key of the request",
            "webhook_id": "the callback's own id",
            "said": "done, failed or pending",
            "reason": "the target's words",
            "at": "since when, by the target's clock",
            "was": "where the object stood until then",
            "applied": "true where it changed something; an older word changes nothing",
            "digest": "SHA-256 of the callback's body",
        },
    ),
    Event(
        "went_stale",
        "A request or a call was unresolved for longer than its threshold.",
        {
            "what": "request or call",
            "key": "its key",
            "state": "where it stands",
            "system": "the target's name, empty for a call",
            "unchanged_since": "since when nothing has moved",
            "stale_since": "when the threshold was passed",
        },
    ),
    # -- What the console knows and allows ------------------------------------------------------------------------
    Event(
        "tool_declared",
        "A tool was declared, or its declaration changed: a new version.",
        {
            "tool": "the tool's name",
            "version": "the new version",
            "digest": "SHA-256 of the declaration",
            "declaration": "the declaration: class, target, compensations by operation, reason",
        },
    ),
    Event(
        "target_seen",
        "A target was named for the first time; nothing is asked of it until an admin registers it.",
        {"name": "the target's name", "base_url": "its address as declared", "audience": "its audience as declared"},
    ),
    Event(
        "target_registered",
        "An admin registered a target: from now on it may be asked.",
        {
            "name": "the target's name",
            "settings": "address, audience, mapping of its answers, threshold, requests at a time",
            "secret_changed": "true where a callback secret was set; the secret itself is never here",
        },
    ),
    Event(
        "target_changed",
        "An admin changed a target.",
        {
            "name": "the target's name",
            "settings": "what holds from now on",
            "secret_changed": "true where a callback secret was set; the secret itself is never here",
            "before": "what held until then, of what changed",
            "suspended": "how many open requests wait for an admin because of it",
        },
    ),
    Event("target_disabled", "An admin had a target not asked any more.", {"name": "the target's name"}),
    Event("target_enabled", "An admin let a target be asked again.", {"name": "the target's name"}),
    Event(
        "requests_resumed",
        "An admin let requests go on that a changed target had suspended.",
        {"name": "the target's name", "requests": "how many"},
    ),
    Event("key_made", "A key for signing tokens was made.", {"kid": "the key's id", "state": "next or active"}),
    Event(
        "keys_rotated",
        "The next key signs from now on.",
        {
            "active": "the key that signs",
            "retiring": "the key that signed until now",
            "next": "the key that is published for the next time",
            "at_once": "true where the old key was withdrawn immediately",
        },
    ),
    Event("agent_registered", "An agent became known.", {"name": "the agent's name"}),
    Event(
        "token_created",
        "A token was created for an agent.",
        {
            "agent": "the agent's name",
            "prefix": "the first characters of the token, which name it",
            "scopes": "what it allows",
            "expires_at": "when it ends",
        },
    ),
    Event("token_withdrawn", "A token was withdrawn.", {"agent": "the agent's name", "prefix": "which token"}),
    Event("role_granted", "A person was given a role.", {"role": "admin or auditor"}),
    Event("role_withdrawn", "A role was taken from a person.", {"role": "admin or auditor"}),
    # -- The log itself -----------------------------------------------------------------------------------------
    Event(
        "log_verified",
        "A person had the log verified on its page.",
        {
            "verdict": "verified, consistent, broken or cannot tell",
            "size": "how many sealed records there were",
            "checked": "how many of them were checked and found good",
            "kind": "what is broken, empty where nothing was found",
            "seq": "the first bad place, null where none was found",
        },
    ),
    Event(
        "log_exported",
        "Records were given out: everything, or what speaks of one object.",
        {
            "form": "ndjson (evidence) or csv (no evidence)",
            "object": "type and id of the object, empty where everything was given out",
            "size": "how many records the checkpoint covers that the export leads to",
        },
    ),
    Event(
        "log_key_rotated",
        "The key that signs the log was replaced; the checkpoint over this record is signed by both.",
        {"before": "the public key until then", "after": "the public key from then on"},
    ),
    Event(
        "log_epoch_began",
        "A backup was restored, and the log goes on without what was signed after it.",
        {
            "epoch": "which one begins",
            "checkpoint": "the last checkpoint of the epoch before, as it was signed",
            "reason": "the operator's words",
        },
    ),
)

CATALOGUE: dict[str, Event] = {event.name: event for event in _EVENTS}


def check(name: str, data: Mapping[str, object]) -> Event:
    """Return the event; raises UnknownEventError or WrongFieldsError where the data is not what it declares."""
    event = CATALOGUE.get(name)
    if event is None:
        raise UnknownEventError(name)
    missing, unknown = event.fields.keys() - data.keys(), data.keys() - event.fields.keys()
    if missing or unknown:
        raise WrongFieldsError(name, set(missing), set(unknown))
    return event
