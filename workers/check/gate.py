"""The gate between plugins and the store: every value that a step left behind passes it once, before it is recorded.

What cannot be stored, or could not be read again, fails the resource with a sentence. The rest of the outcome is kept:
above all the physical id, and private data that are sound, by which the object can still be deleted.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final

from hooks.values.texts import storable
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.errors import typed_message
from orchestrator.model.actions import CHECK
from orchestrator.model.codec import UnreadableValue
from orchestrator.model.plain import NotPlain, refuse_no_map, refuse_not_plain
from orchestrator.store.nodes.claims import Claim, Ending, Outcome, failure_of
from workers.check.changing import ReplaceResource
from workers.check.rebuilding import Attempt

log = get_logger()

#: The most characters of a reason, of a physical id, and of the name of a machine.
MOST_OF_A_REASON: Final = 16_000
MOST_OF_AN_ID: Final = 4_000
MOST_OF_A_NODE: Final = 255

_FAILED: Final = (Ending.FAILED, Ending.FAULT)
#: What is on record and must be readable for any action but a deletion: the columns, and their names in sentences.
_READ: Final = {"data": "private data", "token": "token", "metadata": "metadata", "properties": "properties"}
#: The fields of an outcome that a claim has too.
_RECORDED: Final = frozenset({"physical_id", "on_node", "data", "token", "metadata"})
#: The names of an outcome's fields in sentences.
_NAMES: Final = {
    "physical_id": "self.state.physical_id",
    "on_node": "self.state.on_node",
    "data": "self.state.data",
    "token": "the token",
    "entry": "the token",
    "metadata": "its metadata",
    "reference_id": "its reference id",
    "attributes": "its attributes",
}


class Unreadable(Exception):
    """What is on record of a resource cannot be read, so that its type cannot go on; the text says what."""


def refuse_unreadable(claim: Claim) -> None:
    """Refuse to go on with a resource whose record cannot be read, unless it is deleted.

    Without its definition, which may have it kept, it is not deleted either.

    Raises:
        Unreadable: it cannot.
        ReplaceResource: it has failed already, so that an update replaces it.
    """
    if "fragment" in claim.unreadable or (claim.misplaced and claim.action != "DELETE"):
        # The object is not to blame: it is not replaced for this.
        raise Unreadable("; ".join(claim.misplaced) or "what is planned for it cannot be read")
    names = [_READ[name] for name in claim.unreadable if name in _READ]
    if not names or claim.action == "DELETE":
        return
    sentence = f"what is on record of it cannot be read: its {' and its '.join(names)}"
    if claim.action == "UPDATE" and claim.was[1] == "FAILED":
        raise ReplaceResource(sentence)
    raise Unreadable(f"{sentence}; type {claim.type!r} left it behind; another update replaces the resource")


def admitted(
    claim: Claim, outcome: Outcome, settings: Settings, *, masked: Callable[[str], str] = str
) -> Outcome:
    """Return the outcome as it can be recorded: with values that are plain, and as a failure if there were others.

    Its reason is ``masked``, which takes the secrets out of a text. A finished deletion does not fail: what its
    resource type left behind is needed by nothing any more.
    """
    faults = dict(_faults(claim, outcome, settings))
    reason = storable(masked(outcome.reason), most=MOST_OF_A_REASON)
    if not faults:
        return outcome if reason == outcome.reason else replace(outcome, reason=reason)
    faults = {name: masked(fault) for name, fault in faults.items()}
    return _without(claim, replace(outcome, reason=reason), faults)


def unstorable(claim: Claim, outcome: Outcome, error: Exception) -> Outcome:
    """Return the outcome in place of one that the store refused: a failure with what is on record."""
    why = f"{_left_behind(claim)}{typed_message(error)}"
    reason, physical_id = storable(why, most=MOST_OF_A_REASON), _text_or_none(outcome.physical_id)
    return failure_of(claim, reason, physical_id=physical_id, requires=outcome.requires)


def broken(claim: Claim, attempt: Attempt, reason: str) -> Outcome:
    """Return the outcome of a step whose resource could not even be looked at; with the physical id, if it is one."""
    physical_id = _text_or_none(attempt.physical_id)
    return failure_of(claim, reason, physical_id=physical_id, requires=attempt.requires)


def unread_inputs(claim: Claim, error: UnreadableValue, of: str = "the data of what it requires") -> Outcome:
    """Return the outcome of a step that cannot begin: what it needs besides its own record cannot be read."""
    return failure_of(claim, f"{of}: {error}", physical_id=claim.physical_id)


def _faults(claim: Claim, outcome: Outcome, settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the fields of an outcome that cannot be recorded, and why."""
    for name, look in _looks(settings.max_value_bytes, settings.max_value_depth):
        value = getattr(outcome, name)
        # What is on record came out of the store, and can be stored again.
        if value is None or (name in _RECORDED and _is_same(value, getattr(claim, name))):
            continue
        try:
            look(value)
        except NotPlain as error:
            yield name, str(error)


@lru_cache
def _looks(most_bytes: int, deepest: int) -> tuple[tuple[str, Callable[[Any], None]], ...]:
    """Return the fields of an outcome in which a plugin leaves values, with what refuses a value there."""
    bounds: dict[str, Any] = {"most_bytes": most_bytes, "deepest": deepest}
    plain = partial(refuse_not_plain, **bounds)
    private = partial(refuse_not_plain, **bounds, binary=True)
    return (
        ("physical_id", partial(_refuse_no_text, most=MOST_OF_AN_ID)),
        ("on_node", partial(_refuse_no_text, most=MOST_OF_A_NODE)),
        ("data", partial(refuse_no_map, **bounds, binary=True)),
        ("token", private),
        ("entry", private),
        ("metadata", partial(refuse_no_map, **bounds)),
        ("reference_id", plain),
        ("attributes", partial(_refuse_attributes, plain=plain)),
    )


def _is_same(value: object, before: object) -> bool:
    try:
        return value is before or bool(type(value) is type(before) and value == before)
    except Exception:  # noqa: BLE001  # an author's own comparison
        return False


def _refuse_no_text(value: object, *, most: int) -> None:
    if type(value) is str and value.isprintable() and len(value) <= most:
        return
    if not isinstance(value, str):
        raise NotPlain(f"expected text, found {type(value).__name__}")
    if value != storable(value):
        raise NotPlain("text with characters that are none")
    if len(value) > most:
        raise NotPlain(f"more than {most} characters")


def _refuse_attributes(attributes: Any, *, plain: Callable[[Any], None]) -> None:
    for path, value, *_ in attributes:
        try:
            plain(value)
        except NotPlain as error:
            error.path += [str(step) for step in reversed(path)]
            raise


def _without(claim: Claim, outcome: Outcome, faults: dict[str, str]) -> Outcome:
    """Return the outcome with the record's values in place of the faulty ones."""
    is_gone = claim.action == "DELETE" and outcome.ending is Ending.DONE
    kept: dict[str, Any] = {"data": claim.data, "on_node": None, "attributes": (), "token": None}
    if "physical_id" in faults:
        kept["physical_id"] = _text_or_none(outcome.physical_id)
    changed: dict[str, Any] = {name: kept.get(name) for name in faults}
    if {"attributes", "reference_id"} & faults.keys():
        changed |= {"node_data": None, "reference_id": None, "attributes": ()}
    left = replace(outcome, **changed)
    why = "; ".join(f"{_NAMES[name]}: {fault}" for name, fault in faults.items())
    log.warning("a plugin left no plain values", resource=claim.order.key, type=claim.type, why=why)
    if is_gone:
        return left
    sentence = storable(f"{_left_behind(claim)}{why}", most=MOST_OF_A_REASON)
    if outcome.ending in _FAILED:
        return replace(left, reason=f"{outcome.reason}; {sentence}" if outcome.reason else sentence)
    # None of these is recorded of a failure, nor of what is not complete.
    ended: dict[str, Any] = {
        "node_data": None,
        "reference_id": None,
        "attributes": (),
        "metadata": None,
        "metadata_hash": None,
    }
    return replace(
        left,
        **ended,
        ending=Ending.FAULT if claim.action == CHECK else Ending.FAILED,
        reason=sentence,
        # Until an update is complete, the earlier definition is the base of the next one.
        properties=outcome.properties if claim.action == "CREATE" else None,
        seconds=0.0,
        token=None,
        is_over=False,
        in_flight=None,
        definition_hash=None,
        new_id="",
        then="",
        hook="",
        untouched=False,
    )


def _left_behind(claim: Claim) -> str:
    return f"type {claim.type!r} left behind what is no plain value: "


def _text_or_none(value: object) -> str | None:
    """Return an id as text that can be stored, so that the object is not lost; None for none."""
    if value is None:
        return None
    try:
        return storable(str(value), most=MOST_OF_AN_ID)
    except Exception:  # noqa: BLE001  # an author's own method
        return f"an id that is no text: {type(value).__name__}"
