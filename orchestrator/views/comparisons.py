"""Two operations of one stack side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.views.operations import ChangesView, OperationView
from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSide(View):
    """One resource in one of two operations; of a replacement, the new one and the old one together."""

    #: What was done, such as ``("CREATE", "DELETE")`` for a replacement.
    actions: tuple[str, ...]
    #: One of ``STATES``: failed if one of them is, or else the state of what was made, changed or kept.
    state: str
    attempts: int
    #: Its seconds by kind of span, without those in which it was blocked, and all together.
    seconds: Mapping[str, float]
    total: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow(View):
    """One resource in two operations."""

    name: str
    type: str
    #: None where the operation had no work on it.
    a: ComparedSide | None
    b: ComparedSide | None
    #: How many seconds longer it took in the second, less than 0 for shorter; 0 if it is in one alone.
    difference: float
    #: The kind of span that accounts for most of the difference; empty if there is none.
    mainly: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(View):
    """Two operations; those resources come first of which the durations differ most."""

    a: OperationView
    b: OperationView
    #: How long each took, or has taken so far.
    seconds: tuple[float, float]
    #: The seconds of the critical path of each by kind of span.
    critical: tuple[Mapping[str, float], Mapping[str, float]]
    rows: tuple[ComparedRow, ...]
    #: How many resources are left out, because there are too many to show.
    omitted: int = 0
    #: Whether events of the first and of the second are purged, so that times are missing.
    trimmed: tuple[bool, bool] = (False, False)
    #: What differs from the definition of the first in that of the second; None if it is not asked for.
    changes: ChangesView | None = field(default=None)
