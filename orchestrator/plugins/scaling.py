"""Contract of scalable groups, and of scaling policies that change their size on signals.

A policy and its group decide together; the engine stores the decision before it changes anything, so that another
process can continue.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from hooks.values.dataclass import dataclass
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """A scaling policy's decision on a signal."""

    #: A sentence for the event history.
    sentence: str
    #: The new size; None: no change.
    size: int | None = None


class ScalableResource(StackResource):
    """Base of groups whose number of members scaling policies change."""

    def current_size(self) -> int:
        """Return the present desired number of members."""
        raise NotImplementedError

    def within_bounds(self, size: int) -> int:
        """Return the allowed size nearest to ``size``."""
        raise NotImplementedError

    def cooldown_left(self) -> float:
        """Return the remaining cooldown in seconds, in which no policy may change the size."""
        raise NotImplementedError

    def is_as_asked(self) -> bool:
        """Return whether the stack has the desired members; it lacks them if a resize was interrupted."""
        raise NotImplementedError

    def resize(self, size: int) -> None:
        """Store the new size in the private data and change nothing else: ``child()`` returns a stack of this size."""
        raise NotImplementedError


class ScalingResource(Resource):
    """Base of scaling policies: resources that change the size of a group on signals."""

    #: The name of the property that refers to the group.
    scales: ClassVar[str]

    def scaling(self, group: ScalableResource, details: Mapping[str, Any]) -> Scaling:
        """Return the decision on a signal; record a change of the size in the metadata.

        May run more than once for one signal; changes nothing else.
        """
        raise NotImplementedError
