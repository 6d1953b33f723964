"""What an operator orders on a page: read from what the browser sends, checked against the stack, and carried out.

A person acts upon what a page shows. The order names what that was, and where the stack is another by now, or has a
newer operation, it is refused: nobody cancels what they have not seen.
"""

import glob
import json
import math
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hooks.values.nearest import Nearest
from orchestrator.engine.breakpoints import check_kind
from orchestrator.errors import Conflict, InvalidInput, Problem
from orchestrator.service import Service
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.views.stacks import HookView, StackView

#: What an order may have, beside what every one has; all are texts but the details, which are an object.
_MORE: Final[Mapping[str, tuple[str, ...]]] = {
    "signal": ("resource", "details"),
    "clear_hook": ("resource", "kind"),
}
_ALWAYS: Final = ("stack_id", "traversal_id", "confirm")
#: An order is small, but for a signal's details.
MOST_BYTES: Final = 1024 * 1024
#: How deep values may be in each other.
DEEPEST: Final = 100
_NO_CHARACTER: Final = re.compile(r"[\x00\ud800-\udfff]")
#: Operations that are begun anew by an update with the same definition.
_RETRIED: Final = ("CREATE", "UPDATE", "ROLLBACK", "ADOPT", "RESTORE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Something to be done to a stack."""

    #: One of :data:`orchestrator.dashboard.access.ACTIONS`.
    action: str
    #: The stack, and its operation, that the page showed.
    stack_id: str
    traversal_id: str
    #: The stack's name, as whoever ordered confirmed it.
    confirm: str
    #: Of a signal, the resource; of hooks to clear, where one stands, or empty for all.
    resource: str = ""
    details: Mapping[str, Any] | None = None
    #: The kind of the hooks to clear; empty for any.
    kind: str = ""


def read_order(action: str, body: bytes) -> Order:
    """Return the order that a browser sent as a JSON object.

    Raises:
        InvalidInput: it is none, or lacks something, or has what does not belong there.
    """
    if len(body) > MOST_BYTES:
        raise InvalidInput(
            [Problem(message=f"an order of {len(body)} bytes: at most {MOST_BYTES} are taken")]
        )
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput([Problem(message="expected is a JSON object, and found is no JSON")]) from error
    if not isinstance(sent, dict):
        message = f"expected is a JSON object, and found is {_kind_of(sent)}"
        raise InvalidInput([Problem(message=message)])
    names = (*_ALWAYS, *_MORE.get(action, ()))
    problems = [*_unknown(sent, names), *_wrong(sent, action), *_untold(sent)]
    if problems:
        raise InvalidInput(problems)
    if sent.get("kind"):
        check_kind(sent["kind"], path="kind")
    return Order(action=action, **sent)


def _unknown(sent: Mapping[str, Any], names: Sequence[str]) -> list[Problem]:
    nearest, expected = Nearest(), f"expected are {', '.join(names)}"
    return [
        Problem(path=name, message="there is no such field", hint=nearest.hint(name, names, expected))
        for name in sent
        if name not in names
    ]


def _wrong(sent: Mapping[str, Any], action: str) -> list[Problem]:
    needed = (*_ALWAYS, *(("resource",) if action == "signal" else ()))
    problems = [Problem(path=name, message="is needed") for name in needed if not sent.get(name)]
    for name, value in sent.items():
        kind = dict if name == "details" else str
        if value is not None and not isinstance(value, kind):
            expected = "an object" if kind is dict else "a text"
            problems.append(
                Problem(path=name, message=f"expected is {expected}, and found is {_kind_of(value)}")
            )
    return problems


def _untold(sent: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each field with what JSON can say, or Python's reader takes, and nobody keeps."""
    for name, value in sent.items():
        wrong = next((each for each in map(_wrong_in, _parts(value)) if each), "")
        if wrong:
            yield Problem(path=name, message=f"it has {wrong}")


def _parts(value: Any) -> Iterator[tuple[Any, int]]:
    """Yield a value and all that is in it, names too, each with how deep it is."""
    waiting = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        yield part, depth
        if isinstance(part, dict):
            waiting += [(each, depth + 1) for pair in part.items() for each in pair]
        elif isinstance(part, list):
            waiting += [(each, depth + 1) for each in part]


def _wrong_in(part: tuple[Any, int]) -> str:
    value, depth = part
    if depth > DEEPEST:
        return f"lists or objects in each other, more than {DEEPEST} deep"
    if isinstance(value, str) and _NO_CHARACTER.search(value):
        return "a character that is none: a NUL, or half of a pair of surrogates"
    if isinstance(value, float) and not math.isfinite(value):
        return "a number that is none, or too large"
    return ""


def _kind_of(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return kinds.get(type(value), "a number")


def unfit(action: str, stack: StackRow, hooks: Sequence[HookView]) -> str:
    """Return why there is no point in an action in a stack's present state; empty if there is."""
    state = f"{stack.action}_{stack.status}"
    going = stack.status == "IN_PROGRESS"
    is_part = stack.parent_id is not None and action in ("cancel", "retry", "delete")
    reasons = {
        "the stack is deleted": stack.deleted_at is not None,
        "the stack is a part of another stack: act on that one": is_part,
        f"nothing is under way that could be cancelled: the stack is {state}": (
            action == "cancel" and (not going or stack.action == "DELETE")
        ),
        f"there is nothing to try again: the stack is {state}": (
            action == "retry" and (stack.status != "FAILED" or stack.action not in _RETRIED)
        ),
        "the stack is being deleted": action == "delete" and going and stack.action == "DELETE",
        "nothing stands at a hook": action == "clear_hook" and not hooks,
    }
    return next((sentence for sentence, holds in reasons.items() if holds), "")


def check_order(order: Order, stack: StackRow, hooks: Sequence[HookView]) -> None:
    """Refuse an order that was given upon something else, or that has no point.

    Raises:
        InvalidInput: the name that was confirmed is another.
        Conflict: the stack is another by now, or in no state for it.
    """
    if order.confirm != stack.name:
        message = f"expected is the stack's name, {stack.name!r}, and found is another"
        raise InvalidInput([Problem(path="confirm", message=message)])
    if order.stack_id != stack.id:
        raise Conflict(f"another stack is called {stack.name!r} now: look at it again")
    # Deletion means the stack whatever it does, and so do a signal and a hook; they name what they are about.
    if order.action in ("cancel", "retry") and order.traversal_id != stack.traversal_id:
        raise Conflict(f"stack {stack.name!r} has begun another operation meanwhile: look at it again")
    why = unfit(order.action, stack, hooks)
    if why:
        raise Conflict(why)


def carry_out(order: Order, service: Service) -> dict[str, Any]:
    """Do what an order says, and return what came of it: a sentence, and the stack that changes because of it.

    Raises:
        NotFound: there is no such stack or resource.
        InvalidInput: something is wrong with the order.
        Conflict: it cannot be done now, or a lifecycle plugin refused.
        Unavailable: the queue cannot be reached, or no coordinator took the job.
    """
    if order.action == "cancel":
        return _came(f"{order.confirm} is being cancelled", service.cancel(order.stack_id))
    if order.action == "retry":
        # By its id: another stack may have the name by now. And a job of its own: a definition is none that was sent.
        definition = service.definition(order.stack_id)
        job = replace(definition, name=order.stack_id, job_id=str(uuid.uuid4()))
        return _came(f"{order.confirm} is being tried again", service.update(job))
    if order.action == "delete":
        return _came(f"{order.confirm} is being deleted", service.delete(order.stack_id))
    if order.action == "signal":
        changed = service.signal(order.stack_id, order.resource, order.details or {})
        return _came(f"{order.resource} was signalled", changed)
    # What the page names is one resource, whatever characters are in its name.
    pattern = glob.escape(order.resource) if order.resource else "*"
    cleared = service.clear_hooks(order.stack_id, pattern, order.kind or None)
    named = ", ".join(f"{each.resource} ({each.kind})" for each in cleared)
    return _came(f"let on: {named}" if named else "nothing stood there any more", None)


def _came(sentence: str, changed: StackView | None) -> dict[str, Any]:
    return {
        "message": sentence,
        "stack_id": changed.id if changed else None,
        "traversal_id": changed.traversal_id if changed else None,
    }
