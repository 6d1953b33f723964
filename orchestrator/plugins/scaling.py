"""The contract of groups whose size signals change, and of the policies that take these signals.

A policy and its group decide together; the engine writes down what they decided before it changes anything, so that
it can be gone on with by whoever comes next.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """What a policy makes of a signal."""

    #: A sentence for the event history.
    sentence: str
    #: The new size; None: the group stays as it is.
    size: int | None = None


class ScalableResource(StackResource):
    """Base of stacks whose number of members signals change."""

    def current_size(self) -> int:
        """Return how many members there are to be now."""
        raise NotImplementedError

    def within_bounds(self, size: int) -> int:
        """Return the allowed size that is nearest."""
        raise NotImplementedError

    def cooldown_left(self) -> float:
        """Return how many seconds no policy may change the size, because one just did."""
        raise NotImplementedError

    def is_as_asked(self) -> bool:
        """Tell whether the stack has the members that it is to have; not so, if who changed the size died over it."""
        raise NotImplementedError

    def resize(self, size: int) -> None:
        """Change the private data, and nothing else: from then on, ``child()`` says what has that size."""
        raise NotImplementedError


class ScalingResource(Resource):
    """Base of resources that take signals to change the size of a group."""

    #: The name of the property that refers to the group.
    scales: ClassVar[str]

    def scaling(self, group: ScalableResource, details: Mapping[str, Any]) -> Scaling:
        """Return what a signal comes to; where it changes the size, take that down in the metadata.

        May run more than once for one signal; it changes nothing else.
        """
        raise NotImplementedError
