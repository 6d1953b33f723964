"""Decide what an update does to a resource: one decision for the plan, the dry run, placement and the worker.

Pure. A worker knows every value and observes the object where its state is in doubt. The others decide by what is on
record: values that do not exist yet are ``UNKNOWN``, and the decision says what depends on them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from hooks.values.unknown import UNKNOWN
from orchestrator.definition import is_unknown
from orchestrator.model.actions import CHECK, RESUME, SNAPSHOT, SUSPEND
from orchestrator.plugins.properties import Property
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import CANNOT_TELL, CannotTell, PropertyChanges

#: In which an object may be anything between what it was and what it was to become.
_HALF_WAY: Final = (("UPDATE", "IN_PROGRESS"), ("RESTORE", "IN_PROGRESS"))
#: The name that stands for all properties, where even their names are not known yet.
WHOLE: Final = "*"


class Action(StrEnum):
    """What becomes of a resource, in the words of a dry run."""

    KEEP = "UNCHANGED"
    #: In place.
    UPDATE = "UPDATE"
    REPLACE = "REPLACE"
    CREATE = "CREATE"
    REFUSE = "REFUSE"
    #: Known only once values exist, or the object is observed.
    LATER = "DEPENDS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What an update does to one resource, and why."""

    action: Action
    reason: str = ""
    #: The properties that the definition changes for certain, and those that it may change.
    changed: frozenset[str] = frozenset()
    possible: frozenset[str] = frozenset()
    #: What the type is given of it, unknown values as they were; None where nothing was compared.
    changes: PropertyChanges | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A resource that is there, and the definition that it is given, as far as the caller knows them."""

    #: With the properties of the definition.
    resource: Resource
    #: The last action and its status.
    was: tuple[str, str]
    #: Returns the properties applied last, as the type sees them; None where they are not on record.
    applied: Callable[[], Mapping[str, Any] | None]
    #: Why another takes its place whatever it looks like; empty if none does.
    replace: str = ""
    #: Whether nothing is taken to be what it was made.
    refresh: bool = False
    #: What else of it changes in place; empty if nothing does.
    besides: str = ""
    #: Whether the caller is a worker.
    at_hand: bool = False


def decide(it: Subject) -> Decision:
    """Return what an update does to a resource.

    Raises:
        PropertyError: a value that was applied is none of its type.
    """
    if it.was[0] == "INIT":
        return Decision(action=Action.CREATE)
    first = comes_first(*it.was)
    is_made_first = first in ("ADOPT", "CREATE")
    if not is_made_first and (reason := _why_replaced(it)):
        return Decision(action=Action.REPLACE, reason=reason)
    before = it.applied()
    if before is None:
        return Decision(action=Action.UPDATE if first == "ADOPT" else Action.CREATE, reason=_state(it))
    wanted = it.resource.properties
    if WHOLE in wanted:
        wanted = {**before, **wanted}
    names = {*before, *wanted}
    changed = frozenset(name for name in names if not _may_be(wanted.get(name), before.get(name)))
    possible = frozenset(name for name in names - changed if is_unknown([wanted.get(name), before.get(name)]))
    after = {name: before.get(name) if name in possible else value for name, value in wanted.items()}
    changes = PropertyChanges(before=before, after=after)
    decided = Decision(action=Action.REPLACE, changed=changed, possible=possible, changes=changes)
    # What comes to its end as it was begun is left alone then.
    if is_made_first and it.replace and changed:
        return replace(decided, reason=it.replace)
    return _compared(it, decided, changes)


def comes_first(action: str, status: str) -> str:
    """Return the action that is carried to its end before an update begins; empty for none.

    A claim decides the same in SQL, by the state that it finds.
    """
    if action == SUSPEND or (action, status) == (RESUME, "IN_PROGRESS"):
        return RESUME
    is_unfinished = (action, status) == ("CREATE", "IN_PROGRESS") or (
        action == "ADOPT" and status != "COMPLETE"
    )
    return action if is_unfinished else ""


def is_in_doubt(was: tuple[str, str], *, refresh: bool) -> bool:
    """Whether a resource may be other than it was made: a refresh was requested, or a check did not end well."""
    return refresh or (was[0] == CHECK and was[1] != "COMPLETE")


def has_failed(was: tuple[str, str]) -> bool:
    """Whether a resource failed; one with which only a check or a snapshot found fault was made as it should be."""
    return was[1] == "FAILED" and was[0] not in (CHECK, SNAPSHOT) and not comes_first(*was)


def is_validated(
    kind: type[Resource], was: tuple[str, str], applied: object, given: object, *, refresh: bool
) -> bool:
    """Whether properties are validated before an update begins: not where nothing can come of it."""
    return (
        kind.always_updates or was[1] != "COMPLETE" or applied != given or is_in_doubt(was, refresh=refresh)
    )


def takes_its_place(
    names: tuple[str, str], before: type[Resource] | None, after: type[Resource] | None, named: Iterable[str]
) -> bool:
    """Whether the second of two types is the first under another name, and can read the properties ``named``."""
    if before is None or after is None:
        return False
    readable = after.accepts_anything or frozenset(named) <= after.properties_schema.keys()
    return readable and (
        before.support_status.substitute == names[1] or after.support_status.substitute == names[0]
    )


def meaning_of(prop: Property | None) -> Action:
    """Return what a change of a property comes to."""
    if prop is None or prop.update_allowed:
        return Action.UPDATE
    return Action.REFUSE if prop.immutable else Action.REPLACE


def _state(it: Subject) -> str:
    return f"it is {'_'.join(it.was)}"


def _why_replaced(it: Subject) -> str:
    """Return why another takes the place of a resource whatever it looks like; empty if none does."""
    if it.replace:
        return it.replace
    beyond_repair = it.was[0] == "DELETE" or (has_failed(it.was) and _needs_replace_failed(it))
    return _state(it) if beyond_repair else ""


def _may_be(value: object, other: object) -> bool:
    """Whether two values may turn out to be the same once all of both is known."""
    if value is UNKNOWN or other is UNKNOWN:
        return True
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_may_be(item, other[key]) for key, item in value.items())
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_may_be, value, other))
    return bool(value == other)


def _compared(it: Subject, decided: Decision, changes: PropertyChanges) -> Decision:
    """Return what the differences between what was applied, what is there and what is wanted come to."""
    schema = it.resource.properties_schema
    if fixed := _names(schema, decided.changed, Action.REFUSE):
        reasons = (f"properties.{name}: it cannot be changed once it is set" for name in fixed)
        return replace(decided, action=Action.REFUSE, reason="; ".join(reasons))
    seen, reason = _seen(it, changes.before) if is_in_doubt(it.was, refresh=it.refresh) else ({}, "")
    changes = replace(changes, before={**changes.before, **(seen or {})})
    if it.at_hand and it.was in _HALF_WAY:
        again = _names(schema, schema.keys() - changes.names, Action.UPDATE)
        changes = replace(changes, before={**changes.before, **dict.fromkeys(again)})
    is_open = False
    if not reason:
        reason, is_open = _why_not_in_place(it.resource, changes, at_hand=it.at_hand)
    if reason:
        return replace(decided, reason=reason)
    decided = replace(decided, action=Action.UPDATE if changes.names else Action.KEEP, changes=changes)
    return decided if it.at_hand else _foreseen(it, decided, is_open=is_open, is_seen=seen is not None)


def _names(schema: Mapping[str, Property], names: Iterable[str], *meanings: Action) -> list[str]:
    return sorted(name for name in names if meaning_of(schema.get(name)) in meanings)


def _seen(it: Subject, before: Mapping[str, object]) -> tuple[Mapping[str, object] | None, str]:
    """Return the properties that can be seen, as they are, and why another takes the place of the object.

    None, and no reason, where only a worker knows.
    """
    resource, kind = it.resource, type(it.resource)
    observed: Mapping[str, Any] | CannotTell | None = CANNOT_TELL
    if kind.observe is not Resource.observe:
        if not it.at_hand:
            return None, ""
        # As it was made: a type tells what it cannot see from its properties.
        wanted, resource.properties = resource.properties, before
        try:
            observed = resource.observe()
        finally:
            resource.properties = wanted
    if observed is None:
        return {}, "it is not there any more"
    seen: Mapping[str, Any] = {} if isinstance(observed, CannotTell) else observed
    looks_sound = all(value == before.get(name) for name, value in seen.items())
    unseen = isinstance(observed, CannotTell) or kind.handle_check is not Resource.handle_check
    if it.was != (CHECK, "FAILED") or not looks_sound or not unseen:
        return seen, ""
    beyond_repair = _needs_replace_failed(it)
    if beyond_repair:
        return seen, "its check failed, and no property that can be seen is the cause"
    return None if beyond_repair is None else seen, ""


def _why_not_in_place(resource: Resource, changes: PropertyChanges, *, at_hand: bool) -> tuple[str, bool]:
    """Return why changes need another resource, empty if they do not; and whether only a worker knows."""
    if held := _names(resource.properties_schema, changes.names, Action.REPLACE, Action.REFUSE):
        return f"cannot be changed in place: {', '.join(held)}", False
    replaces = changes.names and _answer(lambda: resource.needs_replace(changes), at_hand=at_hand)
    return "its type says that these changes need another resource" if replaces else "", replaces is None


def _needs_replace_failed(it: Subject) -> bool | None:
    """Return whether a failed resource must be replaced, by its type; None where only a worker knows."""
    if type(it.resource).needs_replace_failed is Resource.needs_replace_failed:
        return True
    answer = None
    if not is_unknown(it.resource.properties):
        answer = _answer(it.resource.needs_replace_failed, at_hand=it.at_hand)
    return True if answer is None and it.resource.state.physical_id is None else answer


def _answer(question: Callable[[], bool], *, at_hand: bool) -> bool | None:
    """Return a type's answer; None where it needs what only a worker has."""
    try:
        return bool(question())
    except Exception:
        if at_hand:
            raise
        return None


def _foreseen(it: Subject, decided: Decision, *, is_open: bool, is_seen: bool) -> Decision:
    """Return a decision with what else is certain, and with what only a worker finds out."""
    schema, action, reasons = it.resource.properties_schema, decided.action, []
    if is_open or (decided.possible and type(it.resource).needs_replace is not Resource.needs_replace):
        reasons.append("its type may decide to replace it")
    for meaning, word in ((Action.REPLACE, "replaced"), (Action.REFUSE, "refused")):
        if names := _names(schema, decided.possible, meaning):
            reasons.append(f"{word} if this changes: {', '.join(names)}")
    certain = [it.besides] if it.besides and action is Action.KEEP else []
    if comes_first(*it.was) == RESUME:
        certain.append("it is suspended, and resumed first")
    elif has_failed(it.was) or (it.was[1] == "IN_PROGRESS" and it.was[0] != CHECK):
        certain.append(_state(it))
    if certain:
        action = Action.UPDATE
    elif decided.possible and action is Action.KEEP:
        action = Action.LATER
        reasons.insert(0, "only if what it depends on changes")
    if not is_seen:
        action = Action.LATER if action is Action.KEEP else action
        state = "" if it.refresh else f"{_state(it)}: "
        certain.append(f"{state}changed back, or replaced, if others changed or removed it")
    return replace(decided, action=action, reason="; ".join([*reasons, *certain]))
