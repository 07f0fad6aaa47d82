"""What does this deployment answer to the five questions one should ask of any button that takes back? Facts only.

Is there an entry point, does it take effect, how far does it get, who may ask and in whose name, and can it be proven
afterwards what became of it?
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from django.conf import settings

from audit import queries as audit_queries
from config.checks import Finding, Found, State, asked, some
from config.templatetags.takeback import span
from sideeffects import proofs, unresolved
from sideeffects.actors import ADMIN, AUDITOR
from sideeffects.models import AgentToken, Group, Role, SigningKey
from sideeffects.proofs import NOTHING, Proof
from sideeffects.proofwords import Came, Reach
from sideeffects.tools import REGISTRY


def all_tools() -> dict[str, Proof]:
    """Return the proof of every tool by name, also of those that this program declares and nobody has called."""
    declared = {name: Proof(tool.contract, 0, None, NOTHING) for name, tool in REGISTRY.items()}
    return dict(sorted((declared | {tool.name: tool.proof for tool in proofs.tools()}).items()))


def promising() -> dict[str, Proof]:
    """Return those of them that promise a way back."""
    return {name: proof for name, proof in all_tools().items() if proof.reach is not Reach.NOWHERE}


def entry_point(_now: datetime) -> Found:
    """Say which promises have a way that could be used."""
    tools = promising()
    none = len(all_tools()) - len(tools)
    unknown = Group.objects.filter(tool_version=None).values("tool").distinct().count()
    shut = {name: proof for name, proof in tools.items() if not proof.entry.there}
    missing = [f"{name} ({proof.entry.words})" for name, proof in shut.items() if not proof.entry.by_settings]
    elsewhere = [name for name, proof in shut.items() if proof.entry.by_settings]
    said = f"{len(tools)} tools promise a way back, {none} say that there is none"
    said += f", {unknown} are known by their calls only: not revocable" if unknown else ""
    if elsewhere:  # a server that runs with other settings is not asked, so nothing is known of it
        said += f"; by the settings of this command the hosts of these may not be called: {some(elsewhere)}; a server"
        said += " that runs with other settings (such as `up`, for its sandbox) may call them all the same"
    if missing:
        return State.NEEDS_A_PERSON, f"{said}; promised and not there: {some(missing)}"
    if elsewhere:
        return State.UNKNOWN, said
    return (State.OK if tools else State.UNKNOWN), said


def effect(_now: datetime) -> Found:
    """Say what the last try of each tool came to."""
    tools = promising()
    proven = [name for name, proof in tools.items() if proof.is_proven]
    failed = [name for name, proof in tools.items() if proof.came in {Came.REFUSED, Came.UNKNOWN}]
    sandbox = [name for name, proof in tools.items() if proof.came is Came.WORKED and proof.is_sandbox]
    accepted = [name for name, proof in tools.items() if proof.came is Came.ACCEPTED]
    rest = [name for name in tools if name not in {*proven, *failed, *sandbox, *accepted}]
    kinds = (
        ("last failed", failed),
        ("worked against a sandbox only", sandbox),
        ("accepted, end unknown", accepted),
        ("unproven", rest),
    )
    said = [f"{len(proven)} of {len(tools)} proven by what they last did"]
    said += [f"{label}: {some(names)}" for label, names in kinds if names]
    state = State.NEEDS_A_PERSON if failed else State.OK if len(proven) == len(tools) and tools else State.UNKNOWN
    return state, "; ".join(said)


def reach(now: datetime) -> Found:
    """Say how far revokes get by themselves, and what is open."""
    tools = promising()
    kinds = ((Reach.HERE, "done here"), (Reach.CONFIRMABLE, "confirmable"), (Reach.REQUESTED, "requested only"))
    said = [
        f"{len(names)} {label}" for kind, label in kinds if (names := [n for n, p in tools.items() if p.reach is kind])
    ]
    shares = unresolved.shares(Group.objects.all(), now=now)
    waiting = sum(share.count for share in shares)
    oldest = min((share.oldest_at for share in shares if share.oldest_at), default=None)
    said.append(f"unresolved now: {waiting}" + (f", the oldest for {span(now - oldest)}" if oldest else ""))
    only = [name for name, proof in tools.items() if proof.reach is Reach.REQUESTED]
    said += [f"nothing would tell the end of: {some(only)}"] if only else []
    return (State.UNKNOWN if only or waiting else State.OK), "; ".join(said)


def authority(now: datetime) -> Found:
    """Say who may, and how a target knows in whose name."""
    roles = {name: Role.objects.filter(role=name, user__is_active=True).count() for name in (ADMIN, AUDITOR)}
    alive = AgentToken.objects.filter(withdrawn_at=None).exclude(expires_at__lte=now)
    may = sum("revoke-own" in scopes for scopes in alive.values_list("scopes", flat=True))
    key = SigningKey.objects.filter(state=SigningKey.State.ACTIVE).first()
    said = [
        f"owners their own, {roles[ADMIN]} admins anyone's with a reason, {roles[AUDITOR]} auditors read only",
        f"{may} agents' tokens may revoke, at most {settings.AGENT_REVOKES_PER_HOUR} actions an hour each",
        f"targets are asked with a token for one call, in the name of who asked, signed by {key.kid}"
        if key
        else "no key signs tokens yet: one is made at the first request to a target",
    ]
    return (State.OK if roles[ADMIN] else State.NEEDS_A_PERSON), "; ".join(said)


def evidence(now: datetime) -> Found:
    """Say how much of the log is held against a rewrite."""
    numbers = audit_queries.numbers()
    last = numbers.checkpoint
    if not numbers.size or last is None:
        return State.UNKNOWN, "nothing is proven yet: no sealed record is covered by a signed checkpoint"
    open_ = numbers.size - last.size
    said = f"{last.size} records under a checkpoint signed {span(now - last.published_at)} ago, {open_} after it"
    said += "; it protects only whoever holds a copy elsewhere"
    hook = "; a hook takes it elsewhere" if settings.CHECKPOINT_HOOK else "; no hook takes it elsewhere"
    return (State.OK if settings.CHECKPOINT_HOOK else State.UNKNOWN), said + hook


QUESTIONS: Mapping[str, Callable[[datetime], Found]] = {
    "Is there an entry point for what agents do here?": entry_point,
    "Does it take effect?": effect,
    "How far does it get, and what is still open?": reach,
    "Who may take back, and in whose name is a target asked?": authority,
    "Can it be proven afterwards who took back what, when, and how far it got?": evidence,
}


def answers(*, now: datetime) -> list[Finding]:
    """Answer the five; `check` of each is the question itself."""
    return [Finding(question, *asked(answer, now)) for question, answer in QUESTIONS.items()]
