"""Saved plans in the browser: read from a request, shown for a review, and applied.

A plan comes and goes as its file, in base64. Nothing of it is kept here.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.dashboard.bodies import comment_problems, kind_of, read_object, unknown, unstorable
from orchestrator.dashboard.drafts import plan_row, problems_shown
from orchestrator.dashboard.orders import came
from orchestrator.engine.stack_plans import StackPlan
from orchestrator.errors import Conflict, InvalidInput, NotFound, Problem
from orchestrator.planning.decision import Action
from orchestrator.service import Service
from orchestrator.views.plans import PlannedResource

#: What an action on a stack is called here, by the operation that is planned.
ACTION_OF: Final[Mapping[str, str]] = {"CREATE": "create", "UPDATE": "update", "DELETE": "delete"}
#: The actions by which the object of a resource is lost.
_DESTROYING: Final = frozenset({"DELETE", Action.REPLACE.value})
#: What is being done to a stack while a plan is applied.
_BEING: Final = {"CREATE": "created", "UPDATE": "updated", "DELETE": "deleted"}
#: The fields of an order that applies a plan beside the plan, and their types.
_OF_ORDERS: Final[Mapping[str, type]] = {"confirm": str, "destroys": int, "comment": str}
_IN_WORDS: Final[Mapping[type, str]] = {str: "a text", int: "a number"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOrder:
    """A plan that a visitor sent, to look at it or to have it applied."""

    #: The content of its file.
    content: bytes
    #: To apply it: the stack's name, and how many resources are deleted or replaced, as the visitor confirmed them.
    confirm: str = ""
    destroys: int = 0
    #: Why, in the visitor's words; recorded with the operation.
    comment: str = ""


def read_plan_order(body: bytes, *, applies: bool, most_bytes: int) -> PlanOrder:
    """Return the plan in a request's body, a JSON object; if it is to be applied, with what was confirmed.

    Raises:
        InvalidInput: it is not a JSON object, or a field is missing, unknown or malformed.
    """
    sent = read_object(body, most_bytes=most_bytes)
    types = {"plan": str, **(_OF_ORDERS if applies else {})}
    needed = ("plan", *(("confirm",) if applies else ()))
    problems = [
        *unknown(sent, tuple(types)),
        *(Problem(path=name, message="is needed") for name in needed if not sent.get(name)),
        *(
            Problem(path=name, message=f"expected is {_IN_WORDS[types[name]]}, and found is {kind_of(value)}")
            for name, value in sent.items()
            if name in types and not _fits(value, types[name])
        ),
        *unstorable(sent),
        *comment_problems(sent),
    ]
    if problems:
        raise InvalidInput(problems)
    try:
        content = base64.b64decode(sent.pop("plan"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput([Problem(path="plan", message="expected is a plan's file, in base64")]) from error
    return PlanOrder(content=content, **sent)


def _fits(value: object, expected: type) -> bool:
    return isinstance(value, expected) and not isinstance(value, bool)


def shown(plan: StackPlan, service: Service) -> dict[str, Any]:
    """Return a plan as JSON: its document, what is needed to confirm it, and why it cannot be applied now, if so.

    ``obstacle`` is that reason, by the stack's present state; empty if a coordinator would probably apply it.
    """
    view = plan.view
    document = view.to_dict()
    del document["resources"]
    obstacle = ""
    try:
        service.plans.require_applicable(plan)
    except (Conflict, NotFound) as error:
        obstacle = str(error)
    return {
        **document,
        "rows": [{**plan_row(each), "after": list(each.after)} for each in view.resources],
        "warnings": problems_shown(view.warnings),
        "destroys": _destroyed(view.resources),
        "obstacle": obstacle,
    }


def _destroyed(resources: tuple[PlannedResource, ...]) -> int:
    """Return how many resources lose their object, or may."""
    return sum(not _DESTROYING.isdisjoint({each.action, *each.may}) for each in resources)


def apply(plan: StackPlan, order: PlanOrder, service: Service) -> dict[str, object]:
    """Begin what a plan says, and return the result as JSON.

    Raises:
        InvalidInput: what was confirmed is not what the plan does, or the plan is not accepted.
        Conflict: the stack has moved on, or a lifecycle plugin refused.
        Unavailable: the queue cannot be reached, or no coordinator took the job.
    """
    view = plan.view
    if order.confirm != view.stack:
        message = f"expected is the stack's name, {view.stack!r}, and found is another"
        raise InvalidInput([Problem(path="confirm", message=message)])
    destroyed = _destroyed(view.resources)
    if order.destroys != destroyed:
        message = f"expected is {destroyed}, how many resources it deletes or replaces, and found is {order.destroys}"
        raise InvalidInput([Problem(path="destroys", message=message)])
    # What is known now is refused at once; the coordinator decides.
    service.plans.require_applicable(plan)
    return came(f"{view.stack} is being {_BEING[view.action]} as planned", service.apply(plan))


def filed(plan: StackPlan, service: Service) -> dict[str, str]:
    """Return a plan's file as JSON: its name, and its content in base64.

    Raises:
        InvalidInput: there is no key to sign or to encrypt it with.
    """
    content = base64.b64encode(service.plans.packed(plan)).decode()
    return {"name": f"{plan.view.stack}.plan", "plan": content}


def deletion(name: str, service: Service) -> dict[str, str]:
    """Return the file of the plan of a stack's deletion, as :func:`filed`.

    Raises:
        NotFound: there is no such stack.
        Conflict: the stack is busy, deleted or protected, or a lifecycle plugin would refuse.
        InvalidInput: there is no key to sign or to encrypt it with.
    """
    return filed(service.plans.of_delete(name), service)
