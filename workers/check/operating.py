"""What is done with a resource as it is: check it, suspend it, resume it, take a snapshot of it.

No definition is applied: the resource has the properties that were applied last.
"""

from collections.abc import Mapping
from typing import Any

from orchestrator.model.actions import CHECK, OPERATIONS, RESUME, is_fit
from orchestrator.model.messages import CONVERGE
from orchestrator.plugins.resource import CannotTell, Resource, ResourceFailure, Wait
from orchestrator.store.nodes.claims import Claim


class NotFit(Exception):
    """Nothing can be done with the resource in the state that it is in, and nothing was; the text says which."""


def is_operation(claim: Claim) -> bool:
    """Whether the claimed action works on the resource as it is."""
    return claim.action in OPERATIONS


def is_external(claim: Claim) -> bool:
    """Whether the resource stands for something that is not ours."""
    fragment: Mapping[str, Any] = claim.fragment
    return bool(fragment.get("external") or fragment.get("definition", {}).get("e"))


def refuse_unfit(claim: Claim) -> None:
    """Refuse a resource that the claimed operation cannot be done with.

    Raises:
        NotFit: it is none.
    """
    action, status = claim.was
    if not is_fit(claim.action, action, status):
        raise NotFit(f"it is {action}_{status}")
    if claim.action == CHECK and "unhealthy" in claim.fragment:
        raise NotFit(claim.fragment["unhealthy"])


def operate(resource: Resource, claim: Claim) -> tuple[Any, bool | Wait]:
    """Take a step of the claimed operation; return the token, and whether it is complete.

    Raises:
        ResourceFailure: it failed; of a check, the resource is not as it should be.
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
    """Compare what is there with the properties last applied."""
    observed = resource.observe()
    if isinstance(observed, CannotTell):
        return
    if observed is None:
        raise ResourceFailure("it is not there any more")
    drifted = drifted_names(resource, observed) if compares else []
    if drifted:
        # Never the values: they may be secret.
        raise ResourceFailure(f"changed by others: {', '.join(drifted)}")


def drifted_names(resource: Resource, observed: Mapping[str, Any]) -> list[str]:
    """Return the properties that are others than those of the resource, sorted."""
    return sorted(name for name, value in observed.items() if value != resource.properties.get(name))


def is_resumed_first(claim: Claim) -> bool:
    """Whether a resource is brought back from rest before its definition is applied."""
    return claim.action == RESUME and claim.order.phase == CONVERGE
