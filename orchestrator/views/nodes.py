"""What the faces show of nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView(View):
    """A node: what its agent says of it, what is promised of it, and whether it can be asked.

    Memory and storage are in MiB. Times are seconds since the epoch by the database's clock.
    """

    name: str
    #: up, unreachable (its agent is not there, or does not answer), or failing: it cannot be asked for another reason.
    state: str
    #: Why it is not up; a sentence.
    reason: str = ""
    #: Whether nothing is placed on it, since when and why.
    drained: bool = False
    drained_at: float | None = None
    drain_reason: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    hypervisors: tuple[str, ...] = ()
    #: Types of storage units, by name.
    storage: Mapping[str, str] = field(default_factory=dict)
    #: What there is, what the machine keeps for itself, and what may be promised of the rest.
    memory_mib: int | None = None
    reserved_memory_mib: int = 0
    memory_ratio: float = 1.0
    vcpus: int | None = None
    vcpu_ratio: float = 1.0
    #: What is promised, by kind of amount: ``memory_mib``, ``vcpus``, ``disk:TYPE:NAME``.
    promised: Mapping[str, int] = field(default_factory=dict)
    #: The memory that is free as the machine sees it; None where nobody could tell.
    memory_free_mib: int | None = None
    #: How many instances there are, whether they run or not; None where nobody could tell.
    instances: int | None = None
    #: How long ago it told its state; None if it did not, and nothing is remembered.
    age_seconds: float | None = None
    #: When its agent was last known to be there, and how long ago that was.
    seen_at: float | None = None
    seen_seconds: float | None = None
    #: Where its agent runs, which agent it is, and which boot of the machine.
    holder: str = ""
    incarnation: str = ""
    boot_id: str = ""
    #: The machine has booted, and what was on it has not been checked since.
    booted: bool = False

    @property
    def states(self) -> str:
        """How it is, and whether it is drained, in words."""
        if not self.drained:
            return self.state
        return "drained" if self.state == UP else f"{self.state}, drained"


#: The states of a node.
UP = "up"
UNREACHABLE = "unreachable"
FAILING = "failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionView(View):
    """What a node says of one hypervisor or one storage unit."""

    #: hypervisor or storage.
    kind: str
    name: str
    #: Of storage its type.
    type: str = ""
    #: ok, error, timeout or absent.
    status: str
    #: Why it is not ok.
    message: str = ""
    #: What it says, in MiB and counts; without instances.
    data: Mapping[str, Any] = field(default_factory=dict)
    #: Of a hypervisor how many instances it has.
    instances: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentView(View):
    """A resource that is on a node, of whatever project."""

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
    """A node, with all that it says and all that is on it."""

    node: NodeView
    sections: tuple[SectionView, ...] = ()
    residents: tuple[ResidentView, ...] = ()
    #: The version of its agent; empty if it cannot be asked.
    version: str = ""
    #: How often the agent has voided what is remembered, of its node and of all, since it began; by the reason, which
    #: is the name of an RPC as a rule.
    bumps: Mapping[str, int] = field(default_factory=dict)
    flushes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceView(View):
    """An instance on a node, and whose it is."""

    name: str
    hypervisor: str
    #: What its hypervisor calls it: a process number, a domain's id.
    id: str = ""
    #: running, paused, shutdown, crashed or unknown.
    state: str
    raw_state: str = ""
    #: What it was promised, and what it uses; None where nobody can tell.
    memory_mib: int
    memory_used_mib: int | None = None
    vcpus: int
    cpu_seconds: float = 0.0
    #: The resource that it is, by the names of its stack and its own; empty if it belongs to none.
    stack: str = ""
    resource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstancesView(View):
    """The instances of a node."""

    node: str
    instances: tuple[InstanceView, ...]
    #: How long ago the node said so, and whether it cannot be asked now.
    age_seconds: float
    stale: bool = False
    #: What hypervisors could not tell, one sentence each: their instances are not among these.
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedView(View):
    """What became of an order about one node."""

    node: str
    #: refreshed, flushed, drained, undrained, unreachable or failing.
    state: str
    #: What that means; a sentence.
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStats(View):
    """What all processes counted of remembering nodes' states."""

    #: When counting began, by the database's clock; None while nothing was counted.
    since: float | None = None
    #: Questions that were answered out of the cache, and those for which a node was asked, by cause.
    hits: int = 0
    misses: Mapping[str, int] = field(default_factory=dict)
    #: Misses that another question, under way just then, has answered.
    shared: int = 0
    #: How often nodes were asked, how often they did not answer, and how long it took on the average.
    asked: int = 0
    unanswered: int = 0
    mean_asked_seconds: float = 0.0
    #: How old, on the average, was what was served.
    mean_age_seconds: float = 0.0
    #: How often what was remembered of a node, or of all, was made void, by the reason.
    bumps: Mapping[str, int] = field(default_factory=dict)
    flushes: Mapping[str, int] = field(default_factory=dict)
    #: Answers that were not kept: something had changed meanwhile, or was changing.
    refused: int = 0
    unsettled: int = 0
    #: Calls of the store that failed.
    errors: int = 0

    @property
    def hit_rate(self) -> float | None:
        """How many questions needed no node, from 0 to 1; None while there were none."""
        questions = self.hits + sum(self.misses.values())
        return self.hits / questions if questions else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, with what follows from the fields."""
        # Not super(): a dataclass with slots is another class than the one that is written here.
        return {**View.to_dict(self), "hit_rate": self.hit_rate}
