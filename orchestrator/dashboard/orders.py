"""Orders of operators: parsed from a request, checked against the stack, and carried out.

An order names the stack and the operation that the page showed. If the stack has been replaced or has a newer operation
since, the order is refused: an operator cannot cancel an operation that the page did not show.
"""

import glob
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from orchestrator.dashboard.bodies import comment_problems, kind_of, read_object, unknown, unstorable
from orchestrator.dashboard.fitness import ON_WHAT_WAS_SEEN, Situation, unfit
from orchestrator.engine.breakpoints import check_kind
from orchestrator.errors import Conflict, InvalidInput, Problem
from orchestrator.model.actions import CHECK, RESUME, SUSPEND
from orchestrator.model.names import NAME, is_name
from orchestrator.service import Service
from orchestrator.views.stacks import StackView

#: The fields of an order by action, beside those of every order, and their types.
_MORE: Final[Mapping[str, Mapping[str, type]]] = {
    "cancel": {"rollback": bool},
    "snapshot": {"snapshot": str},
    "restore": {"snapshot": str},
    "protect": {"resource": str},
    "unprotect": {"resource": str},
    "mark_unhealthy": {"resource": str},
    "mark_healthy": {"resource": str},
    "signal": {"resource": str, "details": dict},
    "clear_hook": {"resource": str, "kind": str},
}
_ALWAYS: Final[Mapping[str, type]] = {"stack_id": str, "traversal_id": str, "confirm": str, "comment": str}
#: What every order needs: the stack, the operation that the page showed, and the confirmed name.
_SHOWN: Final = ("stack_id", "traversal_id", "confirm")
#: The fields that an action needs, beside those of every order.
_NEEDED: Final[Mapping[str, str]] = {
    "restore": "snapshot",
    "mark_unhealthy": "resource",
    "mark_healthy": "resource",
    "signal": "resource",
}
#: The actions that begin an operation without a definition: its name, and what is being done to the stack.
_OPERATED: Final[Mapping[str, tuple[str, str]]] = {
    "check": (CHECK, "checked"),
    "suspend": (SUSPEND, "suspended"),
    "resume": (RESUME, "resumed"),
}
_IN_WORDS: Final[Mapping[type, str]] = {dict: "an object", str: "a text", bool: "true or false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An action on a stack, ordered by an operator."""

    #: One of :data:`orchestrator.dashboard.access.ACTIONS`.
    action: str
    #: The stack and the operation that the page showed.
    stack_id: str
    traversal_id: str
    #: The stack's name, as the operator confirmed it.
    confirm: str
    #: The resource to signal or to mark, or whose hooks to clear; empty for all hooks. The path of the one to protect;
    #: empty for the stack itself.
    resource: str = ""
    details: Mapping[str, Any] | None = None
    #: The kind of the hooks to clear; empty for any.
    kind: str = ""
    #: Whether a cancelled operation is rolled back.
    rollback: bool = True
    #: The name of the snapshot to take, may be empty; or the name or id of the one to restore.
    snapshot: str = ""
    #: Why, in the operator's words: recorded with the operation, and as the reason of a mark.
    comment: str = ""


def read_order(action: str, body: bytes) -> Order:
    """Return the order in a request's body, a JSON object.

    Raises:
        InvalidInput: it is not a JSON object, or a field is missing, unknown or malformed.
    """
    sent = read_object(body)
    types = {**_ALWAYS, **_MORE.get(action, {})}
    problems = [*unknown(sent, tuple(types)), *_wrong(sent, action, types), *unstorable(sent)]
    if problems:
        raise InvalidInput(problems)
    if sent.get("kind"):
        check_kind(sent["kind"], path="kind")
    return Order(action=action, **{name: value for name, value in sent.items() if value is not None})


def _wrong(sent: Mapping[str, object], action: str, types: Mapping[str, type]) -> list[Problem]:
    needed = (*_SHOWN, *(name for name in (_NEEDED.get(action),) if name))
    problems = [Problem(path=name, message="is needed") for name in needed if not sent.get(name)]
    for name, value in sent.items():
        expected = types.get(name, str)
        if value is not None and not isinstance(value, expected):
            message = f"expected is {_IN_WORDS[expected]}, and found is {kind_of(value)}"
            problems.append(Problem(path=name, message=message))
    snapshot = sent.get("snapshot")
    if isinstance(snapshot, str) and snapshot and not is_name(snapshot):
        problems.append(Problem(path="snapshot", message=f"expected is {NAME}"))
    return [*problems, *comment_problems(sent)]


def check_order(order: Order, situation: Situation) -> None:
    """Check that an order still matches the stack, and makes sense in its state.

    Raises:
        InvalidInput: the confirmed name is not the stack's.
        Conflict: the stack or its operation is another by now, or its state does not allow the action.
    """
    stack = situation.stack
    if order.confirm != stack.name:
        message = f"expected is the stack's name, {stack.name!r}, and found is another"
        raise InvalidInput([Problem(path="confirm", message=message)])
    if order.stack_id != stack.id:
        raise Conflict(f"another stack is called {stack.name!r} now: look at it again")
    if order.action in ON_WHAT_WAS_SEEN and order.traversal_id != stack.traversal_id:
        raise Conflict(f"stack {stack.name!r} has begun another operation meanwhile: look at it again")
    why = unfit(order.action, situation)
    if why:
        raise Conflict(why)


def carry_out(order: Order, service: Service) -> dict[str, object]:
    """Carry out an order, and return the result as JSON: a sentence, and the stack that changes because of it.

    Raises:
        NotFound: there is no such stack or resource.
        InvalidInput: the order is malformed.
        Conflict: it cannot be done now, or a lifecycle plugin refused.
        Unavailable: the queue cannot be reached, or no coordinator took the job.
    """
    if order.action == "cancel":
        cancelled = service.cancel(order.stack_id, rollback=order.rollback)
        return came(f"{order.confirm} is being cancelled", cancelled)
    if order.action == "retry":
        # By the stack's id, because its name may be another's by now; with a new job id, because it is a new job.
        definition = service.definition(order.stack_id)
        job = replace(definition, name=order.stack_id, job_id=str(uuid.uuid4()))
        return came(f"{order.confirm} is being tried again", service.update(job))
    if order.action == "delete":
        return came(f"{order.confirm} is being deleted", service.delete(order.stack_id))
    if order.action in _OPERATED:
        action, word = _OPERATED[order.action]
        return came(f"{order.confirm} is being {word}", service.operate(action, order.stack_id))
    if order.action in ("snapshot", "restore"):
        return _with_snapshot(order, service)
    return _on_resource(order, service)


def _with_snapshot(order: Order, service: Service) -> dict[str, object]:
    if order.action == "snapshot":
        going = service.take_snapshot(order.stack_id, order.snapshot)
        return came(f"a snapshot of {order.confirm} is being taken", going)
    return came(f"{order.confirm} is being restored", service.restore(order.stack_id, order.snapshot))


def _protected(order: Order, service: Service) -> dict[str, object]:
    protected = order.action == "protect"
    service.protect(order.stack_id, (order.resource,) if order.resource else (), protected=protected)
    state = "is protected now" if protected else "is not protected any more"
    return came(f"{order.resource or order.confirm} {state}", None)


def _on_resource(order: Order, service: Service) -> dict[str, object]:
    if order.action in ("protect", "unprotect"):
        return _protected(order, service)
    if order.action in ("mark_unhealthy", "mark_healthy"):
        reset = order.action == "mark_healthy"
        marked = service.mark_unhealthy(order.stack_id, order.resource, reason=order.comment, reset=reset)
        return came(f"{order.resource} is {marked.state} now", None)
    if order.action == "signal":
        changed = service.signal(order.stack_id, order.resource, order.details or {})
        return came(f"{order.resource} was signalled", changed)
    # The page names one resource: characters in its name are not wildcards.
    pattern = glob.escape(order.resource) if order.resource else "*"
    cleared = service.clear_hooks(order.stack_id, pattern, order.kind or None)
    named = ", ".join(f"{each.resource} ({each.kind})" for each in cleared)
    return came(f"cleared: {named}" if named else "no resource was held there any more", None)


def came(sentence: str, changed: StackView | None) -> dict[str, object]:
    """Return the result of an order as JSON."""
    return {
        "message": sentence,
        "stack_id": changed.id if changed else None,
        "traversal_id": changed.traversal_id if changed else None,
    }
