"""Views of machines, which the command line calls nodes."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView(View):
    """A machine: its agent's report, its reservations, and whether its agent answers.

    Memory and storage are in MiB. Times are seconds since the epoch by the database's clock.
    """

    name: str
    #: up, unreachable (its agent does not run or answer), or failing (its agent cannot be called for another reason).
    state: str
    #: Why it is not up; a sentence.
    reason: str = ""
    #: Whether it is drained (nothing is placed on it), since when and why.
    drained: bool = False
    drained_at: float | None = None
    drain_reason: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    hypervisors: tuple[str, ...] = ()
    #: Types of storage units, by name.
    storage: Mapping[str, str] = field(default_factory=dict)
    #: The capacity, the part that the machine keeps for itself, and the ratios by which the rest may be overcommitted.
    memory_mib: int | None = None
    reserved_memory_mib: int = 0
    memory_ratio: float = 1.0
    vcpus: int | None = None
    vcpu_ratio: float = 1.0
    #: The reserved amounts, by kind: ``memory_mib``, ``vcpus``, ``disk:TYPE:NAME``.
    promised: Mapping[str, int] = field(default_factory=dict)
    #: The free memory by the machine's own count; None if unknown.
    memory_free_mib: int | None = None
    #: The number of instances, running or not; None if unknown.
    instances: int | None = None
    #: The age of its machine state; None if there is none.
    age_seconds: float | None = None
    #: When its agent was last seen, and how long ago that was.
    seen_at: float | None = None
    seen_seconds: float | None = None
    #: How far its clock is ahead of the machine-state store's; None: unknown.
    clock_ahead_seconds: float | None = None
    #: Where its agent runs, and the ids of the agent's incarnation and of the machine's boot.
    holder: str = ""
    incarnation: str = ""
    boot_id: str = ""
    #: Whether the machine has booted without its resources having been checked since.
    booted: bool = False

    @property
    def states(self) -> str:
        """The state, and whether it is drained, in words."""
        if not self.drained:
            return self.state
        return "drained" if self.state == UP else f"{self.state}, drained"


#: The states of a machine.
UP = "up"
UNREACHABLE = "unreachable"
FAILING = "failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionView(View):
    """One hypervisor or storage unit of a machine's state."""

    #: hypervisor or storage.
    kind: str
    name: str
    #: The type of a storage unit.
    type: str = ""
    #: ok, error, timeout or absent.
    status: str
    #: Why it is not ok.
    message: str = ""
    #: Its data, in MiB and counts; without instances.
    data: Mapping[str, Any] = field(default_factory=dict)
    #: The number of a hypervisor's instances.
    instances: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentView(View):
    """A resource on a machine, of any project."""

    stack: str
    stack_id: str
    project: str
    resource: str
    type: str
    #: Action and status in Heat's spelling.
    state: str
    physical_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDetails(View):
    """A machine with the sections of its state, and its residents."""

    node: NodeView
    sections: tuple[SectionView, ...] = ()
    residents: tuple[ResidentView, ...] = ()
    #: The version of its agent; empty if the agent does not answer.
    version: str = ""
    #: How often the agent has invalidated the cached states of its machine and of all machines since it started, by
    #: the reason, which is usually the name of an RPC.
    bumps: Mapping[str, int] = field(default_factory=dict)
    flushes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceView(View):
    """An instance on a machine, with the resource that it belongs to."""

    name: str
    hypervisor: str
    #: Its id in the hypervisor: a process number, a domain's id.
    id: str = ""
    #: running, paused, shutdown, crashed or unknown.
    state: str
    raw_state: str = ""
    #: The reserved amounts, and those in use; None if unknown.
    memory_mib: int
    memory_used_mib: int | None = None
    vcpus: int
    cpu_seconds: float = 0.0
    #: The names of its stack and resource; empty if it belongs to none.
    stack: str = ""
    resource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstancesView(View):
    """The instances of a machine."""

    node: str
    instances: tuple[InstanceView, ...]
    #: The age of the machine state, and whether the agent does not answer now.
    age_seconds: float
    stale: bool = False
    #: The errors of hypervisors whose instances are missing, one sentence each.
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedView(View):
    """The result of a command on one machine."""

    node: str
    #: refreshed, flushed, drained, undrained, unreachable or failing.
    state: str
    #: A sentence about the state.
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStats(View):
    """The machine-state cache counters of all processes."""

    #: When counting began, by the database's clock; None before the first count.
    since: float | None = None
    #: Look-ups answered from the cache, and those for which an agent was called, by cause.
    hits: int = 0
    misses: Mapping[str, int] = field(default_factory=dict)
    #: Misses that were answered by another call under way.
    shared: int = 0
    #: The number of calls of agents, how many of them failed, and their average time.
    asked: int = 0
    unanswered: int = 0
    mean_asked_seconds: float = 0.0
    #: The average age of answers from the cache.
    mean_age_seconds: float = 0.0
    #: How often the cached state of a machine, or of all machines, was invalidated, by the reason.
    bumps: Mapping[str, int] = field(default_factory=dict)
    flushes: Mapping[str, int] = field(default_factory=dict)
    #: Answers that were not cached because the machine had changed meanwhile, or was changing.
    refused: int = 0
    unsettled: int = 0
    #: Calls of the store that failed.
    errors: int = 0

    @property
    def hit_rate(self) -> float | None:
        """The share of look-ups answered from the cache, from 0 to 1; None before the first."""
        lookups = self.hits + sum(self.misses.values())
        return self.hits / lookups if lookups else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, with the values computed from the fields."""
        # super() without arguments does not work in a dataclass with slots, which is a new class.
        return {**View.to_dict(self), "hit_rate": self.hit_rate}
