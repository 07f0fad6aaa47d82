"""What is answered to a business request? A genuine token's one request, each key acted on once, as it was told."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from config.sandbox.behaviours import AFTER, BEFORE, Behaviour
from config.sandbox.store import MOST_SEEN, UNDELETES, Job, Kept, Store, Thing
from config.sandbox.tokens import Token


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One request whose token is genuine; `verb` is empty for a DELETE."""

    method: str
    path: str
    collection: str
    id: str
    verb: str = ""
    key: str = ""
    if_match: str = ""
    digest: str = ""
    token: Token


@dataclass(frozen=True)
class Answer:
    """What is answered, after how many seconds, and whether the connection closes without it."""

    status: int
    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    dropped: bool = False


def error(status: int, slug: str, reason: str = "", **headers: str) -> Answer:
    """Return a refusal."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": slug, **({"reason": reason} if reason else {})}, named)


class StoppedError(Exception):
    """A request is answered before what was told about its object comes to bear."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(answer.status)


def write(store: Store, ask: Ask) -> Answer:
    """Answer a DELETE or POST: everything that may act."""
    with store.lock:
        store.settle_due()
        try:
            answer = _write(store, ask)
        except StoppedError as stopped:
            answer = stopped.answer
        store.settle_due()
        store.keep()
    return answer


def look(store: Store, ask: Ask) -> Answer:
    """Answer a GET of an object: 200 while it is there, 404 otherwise."""
    with store.lock:
        store.settle_due()
        try:
            thing = _allowed(store.things.get((ask.collection, ask.id)), ask)
        except StoppedError as stopped:
            return stopped.answer
        _note(thing, ask)
        version = {"ETag": f'"{thing.version}"'} if thing.version else {}
        shown = Answer(200, {"collection": thing.collection, "id": thing.id, "version": thing.version}, version)
        return _as_told(thing.behaviour("read"), shown if thing.present else error(404, "not-found"))


def job(store: Store, number: int, ask: Ask) -> Answer:
    """Answer how accepted work stands; which object `ask` is about, the job says."""
    with store.lock:
        store.settle_due()
        found = store.jobs.get(number)
        if found is None:
            return error(404, "not-found")
        try:
            about = replace(ask, collection=found.collection, id=found.id)
            thing = _allowed(store.things.get((found.collection, found.id)), about)
        except StoppedError as stopped:
            return stopped.answer
        _note(thing, ask)
        reason = {"reason": found.fails} if found.status == "failed" else {}
        return _as_told(thing.behaviour("read"), Answer(200, {"status": found.status, **reason}))


def _write(store: Store, ask: Ask) -> Answer:
    if not store.is_new(ask.token.jti, ask.token.until):
        challenge = {"WWW_Authenticate": 'Bearer error="invalid_token"'}
        raise StoppedError(error(401, "token-refused", "its jti was used before", **challenge))
    thing = _allowed(store.things.get((ask.collection, ask.id)), ask)
    _note(thing, ask)
    kept = _kept(store, ask)
    behaviour = thing.behaviour("write")
    if behaviour.do in BEFORE and not behaviour.acts:
        return _before(behaviour)
    if kept is None:
        _check_precondition(thing, ask)
        kept = store.keys[ask.key] = _act(store, thing, ask, behaviour)
    return _as_told(behaviour, Answer(kept.status, kept.body, kept.headers))


def _as_told(behaviour: Behaviour, answer: Answer) -> Answer:
    """Return the answer as it comes out: another, none, or a late one, where that was told."""
    if behaviour.do in BEFORE:
        return _before(behaviour)
    return _after(behaviour, answer) if behaviour.do in AFTER else answer


def _kept(store: Store, ask: Ask) -> Kept | None:
    """Return the answer that this key had, if it had one."""
    if not ask.key:
        raise StoppedError(error(400, "key-needed", "Idempotency-Key is needed"))
    kept = store.keys.get(ask.key)
    if kept is not None and kept.fingerprint != _fingerprint(ask):
        raise StoppedError(error(422, "key-reused", "this Idempotency-Key was used for another request"))
    return kept


def _allowed(thing: Thing | None, ask: Ask) -> Thing:
    """Return the object if the genuine token allows this one request about it."""
    fits = {scope for scope in ask.token.scopes if scope.startswith("compensate:")}
    if not fits or (thing and thing.tool and f"compensate:{thing.tool}" not in fits):
        raise StoppedError(error(403, "scope-refused", "its scope is another"))
    if not any(_details_fit(one, ask) for one in ask.token.details):
        raise StoppedError(error(403, "details-refused", "its authorization_details are for another request"))
    if thing is None:
        raise StoppedError(error(404, "not-found"))
    if thing.owner != ask.token.owner:
        raise StoppedError(error(403, "owner-refused", "its owner does not own the object"))
    return thing


def _details_fit(details: Mapping[str, Any], ask: Ask) -> bool:
    names_key = not ask.key or details.get("request") == ask.key
    return (
        names_key
        and details.get("type") == "compensation"
        and details.get("method") == ask.method
        and details.get("id") == ask.id
        and isinstance(details.get("path"), str)
        and parts(details["path"]) == parts(ask.path)
    )


def parts(path: str) -> list[str]:
    """Return the segments of a path, each decoded: one spelling for what means the same."""
    return [unquote(part) for part in path.split("/")]


def _note(thing: Thing, ask: Ask) -> None:
    thing.requests.append({"jti": ask.token.jti, "key": ask.key, "method": ask.method, "path": ask.path})
    del thing.requests[:-MOST_SEEN]


def _fingerprint(ask: Ask) -> str:
    return f"{ask.method} {ask.path} {ask.digest}"


def _check_precondition(thing: Thing, ask: Ask) -> None:
    wanted = {one.strip().removeprefix("W/").strip('"') for one in ask.if_match.split(",")}
    if ask.if_match and "*" not in wanted and thing.version not in wanted:
        raise StoppedError(error(412, "other-version", "the object has another version by now"))
    if ask.verb in UNDELETES and thing.present:
        raise StoppedError(error(409, "present", "the object is there"))
    if ask.verb not in UNDELETES and not thing.present:
        raise StoppedError(error(404, "not-found"))


def _act(store: Store, thing: Thing, ask: Ask, behaviour: Behaviour) -> Kept:
    """Do what is asked, now or later, and return the answer that this key has from now on."""
    do, fingerprint = behaviour.do, _fingerprint(ask)
    if do == "refuse":
        return Kept(fingerprint, 409, {"error": "refused", "reason": behaviour.reason or "it is in use"}, {})
    if do == "failed":
        return Kept(fingerprint, 200, {"status": "failed", "reason": behaviour.reason or "it could not be undone"}, {})
    if do in {"done", "succeeded", "disappear"}:
        thing.undo(ask.verb)
        return Kept(fingerprint, 202, {}, {}) if do == "disappear" else Kept(fingerprint, 200, {"status": do}, {})
    fails = (behaviour.reason or "it could not be undone") if do == "settle_failed" else ""
    # What hangs, or answers late, says how long in `seconds`; only otherwise is it when the work settles.
    seconds = None if do in AFTER else behaviour.seconds
    opened = store.open_job(thing, request=ask.key, verb=ask.verb, seconds=seconds, fails=fails)
    return _accepted(opened, fingerprint, behaviour)


def _accepted(opened: Job, fingerprint: str, behaviour: Behaviour) -> Kept:
    if behaviour.do == "pending":
        return Kept(fingerprint, 200, {"status": "pending"}, {})
    place = f"/jobs/{opened.number}"
    if behaviour.do == "location_elsewhere":
        place = behaviour.url or f"http://elsewhere.example{place}"
    return Kept(fingerprint, 202, {"status": "pending"}, {"Location": place})


def _before(behaviour: Behaviour) -> Answer:
    """Return the answer of a behaviour that does not look at the object."""
    wait = {"Retry-After": behaviour.retry_after} if behaviour.retry_after else {}
    answers = {
        "busy": Answer(429, {"error": "busy"}, wait),
        "unavailable": Answer(503, {"error": "unavailable"}, wait),
        "error": Answer(500, {"error": "fault"}),
        "redirect": Answer(302, {}, {"Location": behaviour.url or "http://elsewhere.example/"}),
        "forbid": error(403, "forbidden", behaviour.reason),
        "unauthorized": error(401, "unauthorized", behaviour.reason, WWW_Authenticate="Bearer"),
        "gone": error(404, "not-found"),
        "drop_before": Answer(0, dropped=True),
    }
    return answers[behaviour.do]


def _after(behaviour: Behaviour, answer: Answer) -> Answer:
    wait = 0.0 if behaviour.do == "drop" else (60.0 if behaviour.seconds is None else behaviour.seconds)
    return Answer(answer.status, answer.body, answer.headers, wait=wait, dropped=behaviour.do != "slow")
