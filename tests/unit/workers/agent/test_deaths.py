"""Agents that die in the middle of a change, at any line: nothing is done twice, and nobody is told what is void."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cache.node_state.cache import NodeStateCache
from cache.node_state.file_store import FileNodeStore
from cache.node_state.requests import (
    INSTANCES_DATA,
    HypervisorSection,
    MachineState,
    MachineStateRequest,
    Section,
)
from orchestrator.nodes.rpc.messages import Request
from tests.unit.workers.agent.agents import ask, request_of, settings_of, spec, told
from tests.unit.workers.agent.killing import in_a_small_process, killed_after
from tests.waiting import PATIENCE_SECONDS
from workers.agent.agent import Agent

#: Every so many lines one death; a prime, so that it meets the lines of loops at different places.
STRIDE = 41


@dataclass
class Node:
    """A node whose agent dies and comes again, and a reader elsewhere that remembers what it says."""

    directory: Path
    hypervisor: str = "fake"

    def __post_init__(self) -> None:
        self.directory.mkdir()
        self.section = HypervisorSection(self.hypervisor)
        self.settings = settings_of(self.directory, hypervisors={self.hypervisor: {}})
        #: Looks as the next agent would, and changes nothing.
        self.looking = self._agent()
        self.reader = self._cache()
        self.agent = self._agent()
        self.reader.acquire(self.agent.lease())
        self.said()

    def _cache(self) -> NodeStateCache:
        return NodeStateCache(
            FileNodeStore(self.directory / "cache", timeout_seconds=PATIENCE_SECONDS), self._fetch
        )

    def _agent(self) -> Agent:
        return Agent("n1", self.settings, self._cache(), directory=self.directory / "n1")

    def _fetch(self, node: str, request: MachineStateRequest, _seconds: float) -> MachineState:
        result = ask(self.looking, "node_snapshot", request=request.to_wire())
        return MachineState(
            node=node,
            taken_at=0.0,
            incarnation=self.agent.incarnation,
            boot_id=self.agent.boot_id,
            sections={key: Section.from_wire(each) for key, each in result["sections"].items()},
            unsettled=result["unsettled"],
        )

    def said(self) -> dict[str, str]:
        """What the reader is told: the states of the instances."""
        found = self.reader.machine_state("n1", MachineStateRequest(hypervisors=frozenset({self.section})))
        instances = found.sections[self.section.key].data[INSTANCES_DATA]
        return {name: each["state"] for name, each in instances.items()}

    def true(self) -> dict[str, str]:
        """What is so."""
        instances = self.looking.hypervisor(self.hypervisor).instances()
        return {each.name: str(each.state) for each in instances}

    def start_again(self) -> None:
        """Have the agent's successor begin, once its name is free."""
        self.reader.release(self.agent.lease())
        self.agent = self._agent()
        self.reader.acquire(self.agent.lease())
        self.agent.begin()


def die_everywhere(
    directory: Path,
    before: Callable[[Node], None],
    request: Callable[[], Request],
    after: Callable[[Node], None],
    *,
    hypervisor: str = "fake",
    stride: int = STRIDE,
) -> int:
    """Have an agent die after each so many lines of one request, and deliver that again; return how many deaths."""
    for deaths in range(10_000):
        node = Node(directory / str(deaths), hypervisor)
        before(node)
        assert node.said() == node.true()
        delivered = request()
        died = killed_after(deaths * stride + 1, lambda: node.agent.carry_out(delivered))  # noqa: B023
        assert node.said() == node.true(), f"{deaths}: told what is void"
        node.start_again()
        result = told(node.agent.carry_out(delivered))
        assert told(node.agent.carry_out(delivered)) == result, f"{deaths}: told something else"
        assert node.said() == node.true(), f"{deaths}: told what was"
        after(node)
        node.agent.close()
        if not died:
            return deaths
    raise AssertionError("it never ended")


def nothing(_node: Node) -> None:
    """Leave it as it is."""


def start() -> Request:
    return request_of("instance_start", hypervisor="fake", spec=spec())


def one_runs(node: Node) -> None:
    assert node.true() == {"web": "running"}
    assert node.agent.reservations.total().memory_mib == 100


def none_is_left(node: Node) -> None:
    assert node.true() == {}
    assert node.agent.reservations.total().memory_mib == 0
    late = node.agent.carry_out(start())
    assert late.error is not None
    assert late.error.kind == "gone"


@in_a_small_process
def test_agent_that_dies_at_any_line_leaves_the_rest_to_the_next(tmp_path: Path) -> None:
    def started(node: Node) -> None:
        told(node.agent.carry_out(start()))

    def remove() -> Request:
        return request_of("instance_remove", hypervisor="fake", name="web")

    def move() -> Request:
        return request_of("instance_migrate", hypervisor="fake", name="web", directory="", grace_seconds=0)

    def handed_over(node: Node) -> None:
        assert node.true() == {}
        assert (node.directory / "files" / "web" / "handed-over.json").exists()

    for name in ("start", "remove", "move"):
        (tmp_path / name).mkdir()
    assert die_everywhere(tmp_path / "start", nothing, start, one_runs) > 6
    assert die_everywhere(tmp_path / "remove", started, remove, none_is_left) > 3
    assert die_everywhere(tmp_path / "move", started, move, handed_over) > 3
