"""Decide what an update does to a resource: one decision for the plan, the dry run, placement and the worker.

Pure. A worker knows every value and observes the object where its state is in doubt. The others decide by what is on
record: values that do not exist yet are ``UNKNOWN``, and the decision says what depends on them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from hooks.values.dataclass import dataclass
from hooks.values.unknown import UNKNOWN
from orchestrator.definition import AttributePath, is_unknown
from orchestrator.errors import cut, typed_message
from orchestrator.model.actions import CHECK, RESUME, SNAPSHOT, SUSPEND
from orchestrator.plugins.properties import EVERY_ATTRIBUTE, CacheMode, Property
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.plugins.steps import CANNOT_TELL, CannotTell, PropertyChanges

#: In which an object may be anything between what it was and what it was to become.
_HALF_WAY: Final = (("UPDATE", "IN_PROGRESS"), ("RESTORE", "IN_PROGRESS"))
#: The name that stands for all properties, where even their names are not known yet.
WHOLE: Final = "*"


#: The reason of a refusal by ``restricted_actions`` of the environment, by the action.
RESTRICTED: Final = "the environment restricts {action} of this resource (restricted_actions)"
#: The mark of a node whose resource an operator protects, and the reason of a refusal because of it. Unlike what an
#: environment restricts, it does not go with the definition: that may be what drops the resource.
PROTECTED: Final = "protected"
NOT_REPLACED: Final = "a protected resource is not replaced (isotherm stack unprotect)"


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
    #: What may come of it instead, once values exist or the object is observed; the reason says why.
    may: frozenset[Action] = frozenset()


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
    #: What else of it changes in place; empty if nothing does. And whether something else may.
    besides: str = ""
    perhaps: bool = False
    #: Whether the caller is a worker.
    at_hand: bool = False
    #: What :func:`restrictions_of` returns for it.
    restricted: Collection[str] = ()
    #: The actions that the applied plan lists for it; empty where no plan is applied.
    planned: Collection[str] = ()
    #: Whether the definition of its nested stack changes.
    is_other_inside: bool = False
    #: Whether the type is called although values are unknown, which are then given to it as they were.
    calls_early: bool = False


def decide(it: Subject) -> Decision:
    """Return what an update does to a resource.

    Raises:
        PropertyError: a value that was applied is none of its type.
    """
    decided = _unrestricted(it)
    if it.restricted:
        decided = _restricted(it, decided)
    if refusal := unplanned(it.planned, decided.action, decided.reason):
        return replace(decided, action=Action.REFUSE, reason=refusal, may=frozenset())
    return decided


def restrictions_of(*fragments: Mapping[str, Any]) -> frozenset[str]:
    """Return what fragments of a node restrict: actions by the environment, and ``PROTECTED`` by an operator."""
    restricted = {action for each in fragments for action in each.get("restricted", ())}
    return frozenset(restricted | ({PROTECTED} if any(each.get(PROTECTED) for each in fragments) else set()))


def restricting(restricted: Collection[str], action: Action) -> str:
    """Return why an action is refused that is restricted; empty if it is not."""
    if action is Action.REPLACE and PROTECTED in restricted:
        return NOT_REPLACED
    word = {Action.UPDATE: "update", Action.REPLACE: "replace"}.get(action)
    return RESTRICTED.format(action=word) if word in restricted else ""


def unplanned(planned: Collection[str], action: Action, reason: str) -> str:
    """Return why an action is refused that the applied plan does not list; empty if it does, or none is applied.

    ``reason`` is that of the action. To leave a resource as it is, or to refuse it, needs no plan.
    """
    listed = {*planned, Action.KEEP.value, Action.REFUSE.value}
    # What is made anew in the place of another is listed as either.
    if Action.REPLACE in listed or Action.CREATE in listed:
        listed |= {Action.REPLACE.value, Action.CREATE.value}
    if not planned or action.value in listed:
        return ""
    needed = f"{action.value} would be needed{f' because {reason}' if reason else ''}"
    return (
        f"the applied plan lists {' or '.join(sorted(planned))} for this resource; {needed}: make a new plan"
    )


def _restricted(it: Subject, decided: Decision) -> Decision:
    """Return a decision without the actions that the environment restricts."""
    action = decided.action
    if it.is_other_inside and action is Action.KEEP:
        action = Action.UPDATE
    # A resource that is only resumed, or visited for its metadata, is not changed.
    is_changed = it.is_other_inside or decided.changes is None or bool(decided.changes.names)
    refusal = restricting(it.restricted, action) if is_changed or action is not Action.UPDATE else ""
    refused = [each for each in sorted(decided.may) if restricting(it.restricted, each)]
    may = decided.may.difference(refused).union({Action.REFUSE} if refused else ())
    if refusal:
        reason = f"{refusal}; it would be needed because {decided.reason}" if decided.reason else refusal
        return replace(decided, action=Action.REFUSE, reason=reason, may=may - {Action.REFUSE})
    reasons = [
        decided.reason,
        *(f"may be refused, because {restricting(it.restricted, each)}" for each in refused),
    ]
    return replace(decided, reason="; ".join(filter(None, reasons)), may=may)


def _unrestricted(it: Subject) -> Decision:
    """Return what an update does to a resource if nothing is restricted."""
    if it.was[0] == "INIT":
        return Decision(action=Action.CREATE)
    first = comes_first(*it.was)
    is_made_first = first in ("ADOPT", "CREATE")
    why, doubt = ("", "") if is_made_first else _why_replaced(it)
    if why:
        return Decision(action=Action.REPLACE, reason=why)
    before = it.applied()
    if before is None:
        return Decision(action=Action.UPDATE if first == "ADOPT" else Action.CREATE, reason=_state(it))
    wanted = it.resource.properties
    if WHOLE in wanted:
        wanted = {**before, **wanted}
    names = {*before, *wanted}
    changed = frozenset(name for name in names if not may_be(wanted.get(name), before.get(name)))
    possible = frozenset(name for name in names - changed if is_unknown([wanted.get(name), before.get(name)]))
    after = {name: before.get(name) if name in possible else value for name, value in wanted.items()}
    changes = PropertyChanges(before=before, after=after)
    decided = Decision(action=Action.REPLACE, changed=changed, possible=possible, changes=changes)
    # What comes to its end as it was begun is left alone then.
    if is_made_first and it.replace and changed:
        return replace(decided, reason=it.replace)
    if is_made_first and it.replace and possible:
        doubt = f"{it.replace}, unless nothing of it changes"
    return _compared(it, decided, changes, doubt)


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


def lasting_attributes(
    kind: type[Resource], recorded: Mapping[AttributePath, Any]
) -> dict[AttributePath, Any]:
    """Return the recorded attributes of an unchanged resource that its next visit takes as they are."""
    # The content of a nested stack may have changed without it.
    if not recorded or issubclass(kind, StackResource):
        return {}
    modes = {name: attribute.cache_mode for name, attribute in kind.attributes_schema.items()}
    every = CacheMode.NONE if CacheMode.NONE in modes.values() else CacheMode.LOCAL
    if not kind.accepts_anything:
        modes |= dict.fromkeys(EVERY_ATTRIBUTE, every)
    return {
        path: value
        for path, value in recorded.items()
        if value is not None and modes.get(str(path[0])) is CacheMode.LOCAL
    }


def meaning_of(prop: Property | None) -> Action:
    """Return what a change of a property comes to."""
    if prop is None or prop.update_allowed:
        return Action.UPDATE
    return Action.REFUSE if prop.immutable else Action.REPLACE


def _state(it: Subject) -> str:
    return f"it is {'_'.join(it.was)}"


def may_be(value: object, other: object) -> bool:
    """Whether two values may turn out to be the same once all of both is known."""
    if value is UNKNOWN or other is UNKNOWN:
        return True
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(may_be(item, other[key]) for key, item in value.items())
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(may_be, value, other))
    return bool(value == other)


def _why_replaced(it: Subject) -> tuple[str, str]:
    """Return why another takes the place of a resource whatever it looks like, and why it may; empty if not so."""
    if it.replace:
        return it.replace, ""
    if it.was[0] == "DELETE":
        return _state(it), ""
    if not has_failed(it.was):
        return "", ""
    beyond_repair, doubt = _needs_replace_failed(it)
    return _state(it) if beyond_repair else "", doubt


def _compared(it: Subject, decided: Decision, changes: PropertyChanges, doubt: str) -> Decision:
    """Return what the differences between what was applied, what is there and what is wanted come to."""
    schema = it.resource.properties_schema
    if fixed := _names(schema, decided.changed, Action.REFUSE):
        reasons = (f"properties.{name}: it cannot be changed once it is set" for name in fixed)
        return replace(decided, action=Action.REFUSE, reason="; ".join(reasons))
    seen, reason = _seen(it, changes.before) if is_in_doubt(it.was, refresh=it.refresh) else ({}, "")
    changes = replace(changes, before={**changes.before, **(seen or {})})
    given = changes
    if it.was in _HALF_WAY:
        again = _names(schema, schema.keys() - changes.names, Action.UPDATE)
        given = replace(changes, before={**changes.before, **dict.fromkeys(again)})
    if not reason:
        reason, why = _why_not_in_place(it, given, decided.possible)
        doubt = doubt or why
    action = Action.UPDATE if given.names else Action.KEEP
    action = Action.REPLACE if reason else action
    decided = replace(decided, action=action, reason=reason, changes=given if it.at_hand else changes)
    return decided if it.at_hand else _foreseen(it, decided, doubt, is_seen=seen is not None)


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
    beyond_repair, _ = _needs_replace_failed(it)
    if beyond_repair:
        return seen, "its check failed, and no property that can be seen is the cause"
    return None if beyond_repair is None else seen, ""


def _why_not_in_place(it: Subject, changes: PropertyChanges, possible: Collection[str]) -> tuple[str, str]:
    """Return why changes need another resource, and why they may need one; empty if they do not."""
    resource = it.resource
    if held := _names(resource.properties_schema, changes.names, Action.REPLACE, Action.REFUSE):
        return f"cannot be changed in place: {', '.join(held)}", ""
    if type(resource).needs_replace is Resource.needs_replace or not (changes.names or possible):
        return "", ""
    unknown = () if it.calls_early else {name for name in changes.after if is_unknown(changes.after[name])}
    if not it.calls_early and (open_names := sorted({*possible, *unknown})):
        return "", f"{_called(it, 'needs_replace')} once its properties are known: {_listed(open_names)}"
    if not changes.names:
        return "", ""
    replaces, doubt = _answer(it, "needs_replace", lambda: resource.needs_replace(changes))
    return "its type says that these changes need another resource" if replaces else "", doubt


def _needs_replace_failed(it: Subject) -> tuple[bool | None, str]:
    """Return whether a failed resource must be replaced, by its type; None, and why, where only a worker knows."""
    resource = it.resource
    if type(resource).needs_replace_failed is Resource.needs_replace_failed:
        return True, ""
    if is_unknown(resource.properties):
        open_names = sorted(name for name, value in resource.properties.items() if is_unknown(value))
        called = _called(it, "needs_replace_failed")
        answer, doubt = None, f"{called} once its properties are known: {_listed(open_names)}"
    else:
        answer, doubt = _answer(it, "needs_replace_failed", resource.needs_replace_failed)
    return (True, "") if answer is None and resource.state.physical_id is None else (answer, doubt)


def _called(it: Subject, method: str) -> str:
    return f"{method} of {it.resource.type_name} is called"


def _listed(names: Iterable[str]) -> str:
    return ", ".join("all" if name == WHOLE else name for name in names)


def _answer(it: Subject, method: str, question: Callable[[], bool]) -> tuple[bool | None, str]:
    """Return a type's answer; None, and why, where the method needs what only a worker has."""
    try:
        return bool(question()), ""
    except Exception as error:
        if it.at_hand:
            raise
        raised = cut(" ".join(typed_message(error).split()))
        return None, f"{method} of {it.resource.type_name} raised {raised}"


def _foreseen(it: Subject, decided: Decision, doubt: str, *, is_seen: bool) -> Decision:
    """Return a decision with what else is certain, and with what only a worker finds out."""
    action, state = decided.action, "" if it.refresh else f"{_state(it)}: "
    certain = [] if action is Action.REPLACE else _certain_besides(it, action)
    doubts = _doubts(it, decided, doubt)
    reasons = [decided.reason] if decided.reason else []
    if certain:
        action = Action.UPDATE
    elif action is Action.KEEP and (decided.possible or it.perhaps):
        action = Action.LATER
        reasons.append("only if what it depends on changes")
    may = {each for each, _ in doubts}
    if not is_seen:
        may |= {Action.KEEP, Action.UPDATE, Action.REPLACE} - {action}
        words = "may stay" if action is Action.REPLACE else "may change back or replace"
        action = Action.LATER if action is Action.KEEP else action
        certain.append(f"{state}{words}, because others may have changed or removed it")
    if action is Action.LATER:
        may |= {Action.KEEP, Action.UPDATE}
    reasons += [why for _, why in doubts]
    return replace(decided, action=action, reason="; ".join([*reasons, *certain]), may=frozenset(may))


def _certain_besides(it: Subject, action: Action) -> list[str]:
    """Return why a resource is changed in place besides its properties."""
    certain = [it.besides] if it.besides and action is Action.KEEP else []
    if comes_first(*it.was) == RESUME:
        certain.append("it is suspended, and resumed first")
    elif has_failed(it.was) or (it.was[1] == "IN_PROGRESS" and it.was[0] != CHECK):
        certain.append(_state(it))
    return certain


def _doubts(it: Subject, decided: Decision, doubt: str) -> list[tuple[Action, str]]:
    """Return what may come of a resource that is not certain, and why."""
    schema = it.resource.properties_schema
    possible = schema.keys() - decided.changed if WHOLE in decided.possible else decided.possible
    doubts = []
    if doubt and decided.action is not Action.REPLACE:
        doubts.append((Action.REPLACE, f"may replace, because {doubt}"))
    held = _names(schema, possible, Action.REPLACE)
    if held and decided.action is not Action.REPLACE:
        names = ", ".join(held)
        doubts.append(
            (Action.REPLACE, f"may replace, because {names} may change, which needs another resource")
        )
    if fixed := _names(schema, possible, Action.REFUSE):
        names = ", ".join(fixed)
        doubts.append((Action.REFUSE, f"may be refused, because {names} may change, which is not allowed"))
    return doubts
