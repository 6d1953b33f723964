"""Views of outputs that stacks read of each other."""

from dataclasses import dataclass

from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputReadView(View):
    """A resource that reads an output of another stack."""

    #: The outermost stack of the resource, and the name of the resource.
    stack: str
    stack_id: str
    resource: str
    #: The stack whose output it reads.
    source: str
    source_id: str
    source_project: str
    output: str
    #: Whether the output has, or may have, another value than the resource has read.
    stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareView(View):
    """An output that the stacks of another project may read."""

    output: str
    project: str
    #: Seconds since the epoch.
    created_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DependenciesView(View):
    """What a stack reads of others, who reads its outputs, and who may."""

    stack: str
    stack_id: str
    #: What the stack, and the stacks nested in it, read.
    reads: tuple[OutputReadView, ...] = ()
    #: The readers in the same project.
    read_by: tuple[OutputReadView, ...] = ()
    #: The number of stacks of other projects that read it, which are not named.
    other_readers: int = 0
    shares: tuple[ShareView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DependentView(View):
    """A stack that reads outputs of another one, directly or through others, in the order of updates."""

    name: str
    id: str
    #: How many updates come before: 0 for a stack that reads no other dependent.
    layer: int
    #: The names of the dependents that it reads, and of the stack itself if it reads that.
    after: tuple[str, ...]
    #: Whether a value that it has read is outdated.
    stale: bool
