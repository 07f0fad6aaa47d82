"""How is the sandbox staged? Objects made and looked at, behaviours told, work settled now, callbacks sent at once."""

from collections.abc import Mapping
from typing import Any

from config.sandbox.behaviours import BadBehaviourError, header_text, read
from config.sandbox.business import Answer, error
from config.sandbox.callbacks import Message, Teller, message, time_text
from config.sandbox.store import Store, Thing

STATUSES = ("done", "failed", "pending")


def answer(store: Store, teller: Teller, method: str, path: list[str], told: Mapping[str, Any]) -> Answer:
    """Answer a request below `/_control/`."""
    try:
        if path[:1] == ["objects"]:
            return _objects(store, method, path[1:], told)
        match (method, *path):
            case ("POST", "settle"):
                return _settle(store)
            case ("POST", "reset"):
                store.forget()
                teller.hush()
                return Answer(200, {"forgotten": True})
            case ("POST", "callbacks"):
                return _call_back(store, teller, told)
    except BadBehaviourError as bad:
        return error(400, "cannot-be-meant", str(bad))
    return error(404, "no-such-route")


def _objects(store: Store, method: str, path: list[str], told: Mapping[str, Any]) -> Answer:
    match (method, *path):
        case ("POST",):
            return _create(store, told)
        case ("GET",):
            return _show_all(store)
        case ("GET", collection, id_):
            return _show(store, collection, id_)
        case ("PUT", collection, id_, "behaviour"):
            return _behave(store, collection, id_, told)
    return error(404, "no-such-route")


def _create(store: Store, told: Mapping[str, Any]) -> Answer:
    """Make an object, or have it there again; one that is there already stays as it is."""
    collection, id_, owner, present = (told.get(name) for name in ("collection", "id", "owner", "present"))
    named = all(isinstance(one, str) and one for one in (collection, id_, owner))
    if not named or not isinstance(present, bool | None):
        raise BadBehaviourError("collection, id and owner are needed; present is true or false")
    version, tool = header_text(told, "version"), header_text(told, "tool")
    with store.lock:
        key = (str(collection), str(id_))
        known = store.things.get(key)
        if known is not None and known.present:
            return error(409, "owned") if known.owner != owner else Answer(200, _shown(known))
        thing = Thing(*key, str(owner), version, tool, present is not False)
        if known is not None:
            thing.undone, thing.requests = known.undone, known.requests
        store.things[key] = thing
        store.keep()
        return Answer(201, _shown(thing))


def _show(store: Store, collection: str, id_: str) -> Answer:
    with store.lock:
        store.settle_due()
        thing = store.things.get((collection, id_))
        return Answer(200, _shown(thing)) if thing else error(404, "not-found")


def _show_all(store: Store) -> Answer:
    """Answer what became of every object; `asked` is by how many keys it was asked for."""
    with store.lock:
        store.settle_due()
        listed = [
            {
                "collection": thing.collection,
                "id": thing.id,
                "present": thing.present,
                "undone": thing.undone,
                "asked": len({seen["key"] for seen in thing.requests if seen["key"]}),
            }
            for thing in store.things.values()
        ]
    return Answer(200, {"objects": listed})


def _shown(thing: Thing) -> dict[str, Any]:
    return {
        "present": thing.present,
        "undone": thing.undone,
        "version": thing.version,
        "requests": list(thing.requests),
    }


def _behave(store: Store, collection: str, id_: str, told: Mapping[str, Any]) -> Answer:
    behaviour = read(told)
    with store.lock:
        thing = store.things.get((collection, id_))
        if thing is None:
            return error(404, "not-found")
        thing.told[behaviour.on] = behaviour
        store.keep()
    return Answer(200, {"do": behaviour.do, "on": behaviour.on})


def _settle(store: Store) -> Answer:
    """Have everything that was accepted settle now."""
    with store.lock:
        number = store.settle_now()
        store.keep()
    return Answer(200, {"settled": number})


def _call_back(store: Store, teller: Teller, told: Mapping[str, Any]) -> Answer:
    """Tell the console at once, `repeat` times with one id; answers what it said each time."""
    status, repeat = told.get("status"), told.get("repeat", 1)
    if status not in STATUSES or type(repeat) is not int or not 1 <= repeat <= 10:  # noqa: PLR2004  (enough)
        raise BadBehaviourError("status: done, failed or pending; repeat: 1 to 10")
    at = header_text(told, "at") or time_text(store.clock())
    with store.lock:
        found = next((one for one in store.jobs.values() if one.request == told.get("request")), None)
        said: Message | None = message(found, status=str(status), at=at) if found else None
    if said is None:
        return error(404, "not-found")
    return Answer(200, {"statuses": [teller.once(said) for _ in range(repeat)]})
