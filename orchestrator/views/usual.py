"""View of how long an operation, or an action on a resource, usually takes."""

from dataclasses import dataclass

from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualView(View):
    """How long something usually takes, by the last times that it succeeded."""

    #: The median, and the lower and the upper quartile.
    seconds: float
    low_seconds: float
    high_seconds: float
    samples: int
    #: Whether they are close enough to each other to say how much time is left.
    is_steady: bool
