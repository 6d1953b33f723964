"""What a node has promised, and that it never promises more than it may."""

import threading
from pathlib import Path

import pytest

from orchestrator.nodes.rpc.errors import NoCapacity, NotThere, RpcFailed
from tests.unit.workers.agent.agents import agent_of, ask, change, spec
from tests.waiting import PATIENCE_SECONDS
from workers.agent.agent import Agent
from workers.agent.hypervisors.hypervisor import HypervisorFault


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """A node of 1000 MiB and 4 processors, of which 200 MiB are its own."""
    return agent_of(tmp_path, reserved_memory_mib=200, vcpu_ratio=1.0)


def start(agent: Agent, name: str, memory_mib: int, vcpus: int = 1) -> None:
    change(agent, "instance_start", hypervisor="fake", spec=spec(name, memory_mib=memory_mib, vcpus=vcpus))


def names(agent: Agent) -> list[str]:
    return sorted(each.name for each in agent.hypervisor("fake").instances())


def test_instance_without_room_is_refused_with_the_figures(agent: Agent) -> None:
    start(agent, "a", 500)
    with pytest.raises(NoCapacity, match="it wants 301 MiB of memory, 300 of 800 are left"):
        start(agent, "b", 301)
    start(agent, "c", 300)
    assert names(agent) == ["a", "c"]


def test_processors_are_counted_too(agent: Agent) -> None:
    start(agent, "a", 1, vcpus=3)
    with pytest.raises(NoCapacity, match="it wants 2 processors, 1 of 4 are left"):
        start(agent, "b", 1, vcpus=2)


def test_more_than_there_is_may_be_promised_where_the_operator_says_so(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, memory_ratio=1.5)
    start(agent, "a", 1400)
    with pytest.raises(NoCapacity, match="100 of 1500"):
        start(agent, "b", 101)


def test_instance_at_rest_keeps_its_room(agent: Agent) -> None:
    start(agent, "a", 800)
    change(agent, "instance_stop", hypervisor="fake", name="a", grace_seconds=0)
    with pytest.raises(NoCapacity):
        start(agent, "b", 1)
    start(agent, "a", 800)


def test_removed_instance_leaves_its_room(agent: Agent) -> None:
    start(agent, "a", 800)
    change(agent, "instance_remove", hypervisor="fake", name="a")
    start(agent, "b", 800)


def test_start_that_fails_leaves_its_room(agent: Agent) -> None:
    with pytest.raises(Exception, match="name"):
        start(agent, "no name: a/b", 800)
    start(agent, "b", 800)


def test_start_that_may_have_made_something_keeps_its_room(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = agent.hypervisor("fake")

    def fail(*_: object) -> None:
        raise HypervisorFault("the daemon has gone away")

    monkeypatch.setattr(fake, "start", fail)
    monkeypatch.setattr(fake, "instance", fail)
    with pytest.raises(RpcFailed, match="has gone away"):
        start(agent, "a", 800)
    assert agent.reservations.total().memory_mib == 800
    monkeypatch.undo()
    change(agent, "instance_remove", hypervisor="fake", name="a")
    assert agent.reservations.total().memory_mib == 0


def test_agent_started_anew_knows_what_was_promised(agent: Agent, tmp_path: Path) -> None:
    start(agent, "a", 800)
    with pytest.raises(NoCapacity):
        start(agent_of(tmp_path, reserved_memory_mib=200), "b", 1)


def test_resizing_asks_for_room_and_gives_it_back(agent: Agent) -> None:
    start(agent, "a", 400)
    start(agent, "b", 200)
    with pytest.raises(NoCapacity):
        change(agent, "instance_resize", hypervisor="fake", name="a", memory_mib=601, vcpus=1)
    change(agent, "instance_resize", hypervisor="fake", name="a", memory_mib=600, vcpus=1)
    change(agent, "instance_resize", hypervisor="fake", name="a", memory_mib=100, vcpus=1)
    start(agent, "c", 500)
    assert agent.reservations.total().memory_mib == 800


def test_resizing_what_is_not_there_takes_no_room(agent: Agent) -> None:
    with pytest.raises(NotThere):
        change(agent, "instance_resize", hypervisor="fake", name="a", memory_mib=600, vcpus=1)
    assert agent.reservations.total().memory_mib == 0


def test_starts_at_once_never_promise_too_much(agent: Agent) -> None:
    refused: list[str] = []

    def try_to_start(name: str) -> None:
        try:
            start(agent, name, 300)
        except NoCapacity:
            refused.append(name)

    threads = [threading.Thread(target=try_to_start, args=(f"i{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert (len(names(agent)), len(refused)) == (2, 6)
    assert ask(agent, "node_version")["node"] == "n1"
