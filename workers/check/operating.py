"""Operations on a resource as it is: check, suspend, resume, snapshot.

No definition is applied: the resource has the properties that were applied last.
"""

from collections.abc import Mapping
from typing import Any

from orchestrator.model.actions import CHECK, OPERATIONS, RESUME, is_fit
from orchestrator.model.messages import CONVERGE
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import CannotTell, ResourceFailure, Wait
from orchestrator.store.nodes.claims import Claim


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


def operate(resource: Resource, claim: Claim) -> tuple[Any, bool | Wait]:
    """Take a step of the claimed operation; return the token, and whether it is complete.

    Raises:
        ResourceFailure: it failed; for a check, the object differs from the resource.
    """
    if is_external(claim):
        return None, _complete(resource, claim)
    name = claim.action.lower()
    token = claim.token if claim.started else getattr(resource, f"handle_{name}")()
    answer: bool | Wait = getattr(resource, f"check_{name}_complete")(token)
    if isinstance(answer, Wait) or not answer:
        return token, answer
    return token, _complete(resource, claim)


def _complete(resource: Resource, claim: Claim) -> bool:
    if claim.action == CHECK:
        _look(resource, compares=not is_external(claim))
    return True


def _look(resource: Resource, *, compares: bool) -> None:
    observed = resource.observe()
    if isinstance(observed, CannotTell):
        return
    if observed is None:
        raise ResourceFailure("it is not there any more")
    drifted = drifted_names(resource, observed) if compares else []
    if drifted:
        # Names only: values may be secret.
        raise ResourceFailure(f"changed by others: {', '.join(drifted)}")


def drifted_names(resource: Resource, observed: Mapping[str, Any]) -> list[str]:
    """Return the names of the properties that differ from the resource's, sorted."""
    return sorted(name for name, value in observed.items() if value != resource.properties.get(name))


def is_resumed_first(claim: Claim) -> bool:
    """Return whether a suspended resource is resumed before its definition is applied."""
    return claim.action == RESUME and claim.order.phase == CONVERGE
