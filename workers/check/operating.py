"""Operations on a resource as it is: check, suspend, resume, snapshot.

No definition is applied: the resource has the properties that were applied last.
"""

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.model.actions import CHECK, OPERATIONS, RESUME, is_fit
from orchestrator.model.messages import CONVERGE
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import CannotTell, ResourceFailure, Wait
from orchestrator.store.nodes.claims import Claim
from orchestrator.template.document import Path
from workers.check.drift import drift_of


class NotFit(Exception):
    """The operation is impossible in the resource's state, and nothing was done; the text names the state."""


def is_operation(claim: Claim) -> bool:
    """Return whether the claimed action works on the resource as it is."""
    return claim.action in OPERATIONS


def is_external(claim: Claim) -> bool:
    """Return whether the resource stands for an external object (``external_id``)."""
    fragment: Mapping[str, Any] = claim.fragment
    return bool(fragment.get("external") or fragment.get("definition", {}).get("e"))


def refuse_unfit(claim: Claim) -> None:
    """Refuse an operation that the state of the resource does not allow.

    Raises:
        NotFit: it does not.
    """
    action, status = claim.was
    if not is_fit(claim.action, action, status):
        raise NotFit(f"it is {action}_{status}")
    if claim.action == CHECK and "unhealthy" in claim.fragment:
        raise NotFit(claim.fragment["unhealthy"])


def operate(resource: Resource, claim: Claim, is_open: Callable[[Path], bool]) -> tuple[Any, bool | Wait]:
    """Take a step of the claimed operation; return the token, and whether it is complete.

    ``is_open``: whether the value at a path of the properties may be shown.

    Raises:
        ResourceFailure: it failed; for a check, the object differs from the resource.
    """
    if is_external(claim):
        return None, _complete(resource, claim, is_open)
    name = claim.action.lower()
    token = claim.token if claim.started else getattr(resource, f"handle_{name}")()
    answer: bool | Wait = getattr(resource, f"check_{name}_complete")(token)
    if isinstance(answer, Wait) or not answer:
        return token, answer
    return token, _complete(resource, claim, is_open)


def _complete(resource: Resource, claim: Claim, is_open: Callable[[Path], bool]) -> bool:
    if claim.action == CHECK:
        _look(resource, is_open, compares=not is_external(claim))
    return True


def _look(resource: Resource, is_open: Callable[[Path], bool], *, compares: bool) -> None:
    observed = resource.observe()
    if isinstance(observed, CannotTell):
        return
    if observed is None:
        raise ResourceFailure("it is not there any more")
    drift = drift_of(resource.properties, observed, is_open) if compares else ""
    if drift:
        raise ResourceFailure(f"changed by others: {drift}")


def is_resumed_first(claim: Claim) -> bool:
    """Return whether a suspended resource is resumed before its definition is applied."""
    return claim.action == RESUME and claim.order.phase == CONVERGE
