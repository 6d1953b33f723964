"""View of a saved plan: what an operation would do, for a review. It is stored in the plan's file."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from orchestrator.errors import Problem
from orchestrator.views.stacks import PartChange, PropertyChange, ResourcePlan, View


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedResource(ResourcePlan):
    """What is done to one resource; the fields besides are those of a dry run."""

    #: The resources whose work comes before that on this one, where they are worked on.
    after: tuple[str, ...] = ()
    #: The paths of the properties whose values are known only once other resources exist.
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView(View):
    """A saved plan, without anything that is hidden."""

    #: The version of this document.
    version: int
    id: str
    #: CREATE, UPDATE or DELETE.
    action: str
    stack: str
    #: Empty where there is no stack yet; as is the stack's last operation.
    stack_id: str = ""
    traversal_id: str = ""
    project: str
    #: The stack's state when the plan was made; empty where there was no stack.
    state: str = ""
    planned_at: float
    #: Who made it; empty where that is not known.
    user: str = ""
    #: SHA-256 of the job that is applied.
    definition: str
    #: Whether anything of the stack changes, or may.
    has_changes: bool
    #: The number of resources by action.
    counts: Mapping[str, int]
    #: Of an update: its targets, which it visits with all that they require, and nothing else; those whose replacement
    #: was requested; and those that are not as the definition has them afterwards, or may not be.
    targets: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    #: The tags and the parameters after the operation; hidden parameters are masked.
    tags: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: In the order of the work: each after those in its ``after``.
    resources: tuple[PlannedResource, ...]
    #: Deprecated parts of the definition, and the warnings of lifecycle plugins.
    warnings: tuple[Problem, ...] = ()
    #: The annotations of lifecycle plugins, by plugin and by resource.
    annotations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Whether a key of this process verified the plan's signature; None for a plan that was just made.
    is_verified: bool | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return plain types for the plan's file; :meth:`from_wire` is the inverse."""
        warnings = [each.to_wire() for each in self.warnings]
        return {**asdict(self), "warnings": warnings}

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Return the document of a plan's file.

        Raises:
            TypeError, ValueError, KeyError, AttributeError: it is none.
        """
        return cls(
            **{
                **data,
                **{name: tuple(data[name]) for name in ("tags", "targets", "replaces", "partial")},
                "resources": tuple(_resource(each) for each in data["resources"]),
                "warnings": tuple(Problem.from_wire(each) for each in data["warnings"]),
            }
        )


def _resource(data: Mapping[str, Any]) -> PlannedResource:
    changes = (
        PropertyChange(**{**each, "parts": tuple(PartChange(**part) for part in each["parts"])})
        for each in data["changes"]
    )
    lists = {name: tuple(data[name]) for name in ("may", "after", "unknown")}
    return PlannedResource(**{**data, **lists, "changes": tuple(changes)})


def counts_of(resources: Iterable[ResourcePlan]) -> dict[str, int]:
    """Return the number of resources by action, sorted by action."""
    return dict(sorted(Counter(each.action for each in resources).items()))
