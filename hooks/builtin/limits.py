"""``limits``: how many resources a stack may have, in total and of each type.

Counts the resources of the new definition. A nested stack is counted by itself: a plugin is never shown more than
one stack.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hooks.builtin.actions import DEFINING_ACTIONS, is_among
from hooks.builtin.wildcards import is_pattern, matches_any
from hooks.errors import Refusal
from hooks.lifecycle import Annotations, LifecycleContext, LifecyclePlugin
from hooks.options import HookOptions
from hooks.stack import FrozenStack

_Count = Annotated[int, Field(strict=True, ge=0)]
#: Stands for resources of all types.
_TOTAL: Final = ""


class Limit(BaseModel):
    """A limit; a plain number is one to refuse beyond, and without either number there is no limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    warn: _Count | None = Field(default=None, description="A higher number is allowed, with a warning.")
    refuse: _Count | None = Field(default=None, description="A higher number is refused.")

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: object) -> object:
        return value if isinstance(value, Mapping) else {"refuse": value}

    @model_validator(mode="after")
    def _can_warn(self) -> "Limit":
        if self.warn is not None and self.refuse is not None and self.warn >= self.refuse:
            raise ValueError(
                f"warn ({self.warn}) must be less than refuse ({self.refuse}), or nobody is warned"
            )
        return self


class StackLimits(HookOptions):
    """The limits of one stack."""

    resources: Limit = Field(default=Limit(), description="How many resources of any type a stack may have.")
    types: dict[Annotated[str, Field(min_length=1)], Limit] = Field(
        default={},
        description="How many of a type; `*`, `?` and `[abc]` stand for what they do in file names, and then all "
        "resources that match count together.",
    )


class LimitOptions(StackLimits):
    """The options of ``limits``."""

    projects: dict[str, StackLimits] = Field(
        default={},
        description="Limits of the stacks of one project, by its name: each in place of the same limit for all. "
        "`{}` is no limit.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The resources that one limit counts: how many a stack is to have, and has."""

    #: The type, or a pattern of types; empty for resources of all types.
    pattern: str
    limit: Limit
    wanted: int
    present: int

    @property
    def refused(self) -> bool:
        """Whether there are too many; existing ones may stay."""
        return self._beyond(self.limit.refuse) and self.wanted > self.present

    @property
    def suspect(self) -> bool:
        """Whether to warn."""
        return not self.refused and (self._beyond(self.limit.warn) or self._beyond(self.limit.refuse))

    def __str__(self) -> str:
        what = f" that match {self.pattern!r}" if is_pattern(self.pattern) else f" of type {self.pattern!r}"
        resources = "resource" if self.wanted == 1 else "resources"
        counted = f"{self.wanted} {resources}{what if self.pattern else ''}"
        refuse = self.limit.refuse
        if refuse is None or not self._beyond(refuse):
            further = "" if refuse is None else f", and more than {refuse} are refused"
            return (
                f"{counted} are more than the {self.limit.warn} that are thought enough for a stack{further}"
            )
        if not self.refused:
            return f"{counted} are more than the {refuse} that a stack may have: they may stay, but not become more"
        most = max(refuse, self.present)
        kept = f", and {self.present} are there already and may stay" if self.present > refuse else ""
        return (
            f"{counted} are more than the {refuse} that a stack may have{kept}: leave out {self.wanted - most}, or "
            "put them into a further stack"
        )

    def _beyond(self, most: int | None) -> bool:
        return most is not None and self.wanted > most


def counted(
    limits: Mapping[str, Limit], stack: FrozenStack, current: FrozenStack | None
) -> Iterator[Counted]:
    """Yield the count for each of ``limits``, by pattern."""
    wanted, present = _types(stack), _types(current)
    for pattern, limit in limits.items():
        yield Counted(
            pattern=pattern, limit=limit, wanted=_count(wanted, pattern), present=_count(present, pattern)
        )


class Limits(LifecyclePlugin):
    """Counts the resources that a stack is to have."""

    name = "limits"
    description = (
        "Warns of stacks with many resources, in total or of a type, and refuses those with too many."
    )
    enabled_by_default = False
    Options: ClassVar[type[HookOptions]] = LimitOptions
    options: LimitOptions
    #: It calls no server: calling it first may spare a call by plugins that do.
    ordinal = 10

    def do_pre_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
    ) -> Annotations | None:
        """Count the resources, and refuse or warn.

        Raises:
            Refusal: there are too many; the message names every limit that is exceeded.
        """
        if not is_among(DEFINING_ACTIONS, context, action):
            return None
        limits = self._limits_of(context.project)
        found = list(counted(limits, stack, current_stack))
        refused = [str(each) for each in found if each.refused]
        if refused:
            raise Refusal("; ".join(refused))
        return Annotations(warnings=tuple(str(each) for each in found if each.suspect))

    #: It has no side effects.
    do_preview = do_pre_op

    def _limits_of(self, project: str) -> Mapping[str, Limit]:
        options = self.options
        limits = {_TOTAL: options.resources, **options.types}
        if own := options.projects.get(project):
            limits |= own.types
            if "resources" in own.model_fields_set:
                limits[_TOTAL] = own.resources
        return limits


def _types(stack: FrozenStack | None) -> Counter[str]:
    return Counter() if stack is None else Counter(resource.type for resource in stack.resources.values())


def _count(types: Counter[str], pattern: str) -> int:
    if pattern == _TOTAL:
        return types.total()
    if not is_pattern(pattern):
        return types[pattern]
    return sum(count for name, count in types.items() if matches_any(name, (pattern,)))
