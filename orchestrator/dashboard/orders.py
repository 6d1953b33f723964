"""Orders of operators: parsed from a request, checked against the stack, and carried out.

An order names the stack and the operation that the page showed. If the stack has been replaced or has a newer operation
since, the order is refused: an operator cannot cancel an operation that the page did not show.
"""

import glob
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from orchestrator.dashboard.bodies import kind_of, read_object, unknown, unstorable
from orchestrator.engine.breakpoints import check_kind
from orchestrator.errors import Conflict, InvalidInput, Problem
from orchestrator.service import Service
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.views.stacks import HookView, StackView

#: The fields of an order by action, beside those of every order; all are strings but ``details``, an object.
_MORE: Final[Mapping[str, tuple[str, ...]]] = {
    "signal": ("resource", "details"),
    "clear_hook": ("resource", "kind"),
}
_ALWAYS: Final = ("stack_id", "traversal_id", "confirm")
#: The operations that an update with the same definition retries.
_RETRIED: Final = ("CREATE", "UPDATE", "ROLLBACK", "ADOPT", "RESTORE")


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
    #: The resource to signal, or whose hooks to clear; empty for all hooks.
    resource: str = ""
    details: Mapping[str, Any] | None = None
    #: The kind of the hooks to clear; empty for any.
    kind: str = ""


def read_order(action: str, body: bytes) -> Order:
    """Return the order in a request's body, a JSON object.

    Raises:
        InvalidInput: it is not a JSON object, or a field is missing, unknown or malformed.
    """
    sent = read_object(body)
    names = (*_ALWAYS, *_MORE.get(action, ()))
    problems = [*unknown(sent, names), *_wrong(sent, action), *unstorable(sent)]
    if problems:
        raise InvalidInput(problems)
    if sent.get("kind"):
        check_kind(sent["kind"], path="kind")
    return Order(action=action, **sent)


def _wrong(sent: Mapping[str, object], action: str) -> list[Problem]:
    needed = (*_ALWAYS, *(("resource",) if action == "signal" else ()))
    problems = [Problem(path=name, message="is needed") for name in needed if not sent.get(name)]
    for name, value in sent.items():
        kind = dict if name == "details" else str
        if value is not None and not isinstance(value, kind):
            expected = "an object" if kind is dict else "a text"
            problems.append(
                Problem(path=name, message=f"expected is {expected}, and found is {kind_of(value)}")
            )
    return problems


def unfit(action: str, stack: StackRow, hooks: Sequence[HookView]) -> str:
    """Return why an action, or an update, is pointless in a stack's present state; empty if it is not."""
    state = f"{stack.action}_{stack.status}"
    going = stack.status == "IN_PROGRESS"
    is_part = stack.parent_id is not None and action in ("cancel", "retry", "delete", "update")
    reasons = {
        "the stack is deleted": stack.deleted_at is not None,
        "the stack is a part of another stack: act on that one": is_part,
        f"nothing is under way that could be cancelled: the stack is {state}": (
            action == "cancel" and (not going or stack.action == "DELETE")
        ),
        f"there is nothing to try again: the stack is {state}": (
            action == "retry" and (stack.status != "FAILED" or stack.action not in _RETRIED)
        ),
        "the stack is being deleted": (action in ("delete", "update") and going and stack.action == "DELETE"),
        "no resource is held at a hook": action == "clear_hook" and not hooks,
    }
    return next((sentence for sentence, holds in reasons.items() if holds), "")


def check_order(order: Order, stack: StackRow, hooks: Sequence[HookView]) -> None:
    """Check that an order still matches the stack, and makes sense in its state.

    Raises:
        InvalidInput: the confirmed name is not the stack's.
        Conflict: the stack or its operation is another by now, or its state does not allow the action.
    """
    if order.confirm != stack.name:
        message = f"expected is the stack's name, {stack.name!r}, and found is another"
        raise InvalidInput([Problem(path="confirm", message=message)])
    if order.stack_id != stack.id:
        raise Conflict(f"another stack is called {stack.name!r} now: look at it again")
    # A deletion, a signal and a hook do not depend on the operation.
    if order.action in ("cancel", "retry") and order.traversal_id != stack.traversal_id:
        raise Conflict(f"stack {stack.name!r} has begun another operation meanwhile: look at it again")
    why = unfit(order.action, stack, hooks)
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
        return came(f"{order.confirm} is being cancelled", service.cancel(order.stack_id))
    if order.action == "retry":
        # By the stack's id, because its name may be another's by now; with a new job id, because it is a new job.
        definition = service.definition(order.stack_id)
        job = replace(definition, name=order.stack_id, job_id=str(uuid.uuid4()))
        return came(f"{order.confirm} is being tried again", service.update(job))
    if order.action == "delete":
        return came(f"{order.confirm} is being deleted", service.delete(order.stack_id))
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
