"""Instances that go from one node to another: never on both, never on neither."""

from pathlib import Path

import pytest

from orchestrator.nodes.rpc.errors import Gone, NoCapacity, NotThere, RpcRefused
from tests.unit.workers.agent.agents import ToldCache, agent_of, ask, change, spec
from workers.agent.agent import Agent


@pytest.fixture
def one(tmp_path: Path) -> Agent:
    return agent_of(tmp_path, name="one")


@pytest.fixture
def other(tmp_path: Path) -> Agent:
    """Another node, which reaches the same directory."""
    return agent_of(tmp_path, name="other")


def start(agent: Agent) -> None:
    change(agent, "instance_start", hypervisor="fake", spec=spec())


def migrate(agent: Agent, **given: str) -> None:
    where = {"hypervisor": "fake", "name": "web", "directory": "", **given}
    change(agent, "instance_migrate", grace_seconds=0, **where)


def fail_over(agent: Agent) -> None:
    change(agent, "instance_failover", hypervisor="fake", spec=spec(), directory="")


def state(agent: Agent) -> str | None:
    found = ask(agent, "instance_look", hypervisor="fake", name="web")
    return None if found is None else str(found["state"])


def test_instance_goes_to_another_node_and_comes_back(one: Agent, other: Agent) -> None:
    start(one)
    migrate(one)
    assert (state(one), state(other)) == (None, None)
    assert one.reservations.total().memory_mib == 0
    fail_over(other)
    assert (state(one), state(other)) == (None, "running")
    assert other.reservations.total().memory_mib == 100
    migrate(other)
    fail_over(one)
    assert (state(one), state(other)) == ("running", None)
    change(one, "instance_reboot", hypervisor="fake", name="web")


def test_late_start_does_not_bring_it_back_where_it_was(one: Agent, other: Agent) -> None:
    start(one)
    migrate(one)
    fail_over(other)
    with pytest.raises(Gone, match="has gone to another node"):
        start(one)
    assert state(one) is None


def test_late_failover_does_not_bring_back_what_was_removed(one: Agent, other: Agent) -> None:
    start(one)
    migrate(one)
    fail_over(other)
    change(other, "instance_remove", hypervisor="fake", name="web")
    with pytest.raises(Gone, match="was removed"):
        fail_over(other)
    assert state(other) is None


def test_failover_again_is_harmless(one: Agent, other: Agent) -> None:
    start(one)
    migrate(one)
    fail_over(other)
    fail_over(other)
    assert state(other) == "running"
    assert other.reservations.total().memory_mib == 100


def test_migrating_again_tells_what_was_handed_over(one: Agent) -> None:
    start(one)
    migrate(one)
    migrate(one)
    with pytest.raises(NotThere):
        migrate(one, name="never")


def test_nothing_is_taken_in_that_is_not_whole(other: Agent) -> None:
    with pytest.raises(NotThere, match="as a whole"):
        fail_over(other)
    assert (state(other), other.reservations.total().memory_mib) == (None, 0)


def test_exported_instance_stays_and_is_imported_at_rest(one: Agent, other: Agent) -> None:
    start(one)
    change(one, "instance_stop", hypervisor="fake", name="web", grace_seconds=0)
    change(one, "instance_export", hypervisor="fake", name="web", directory="")
    change(other, "instance_import", hypervisor="fake", spec=spec(), directory="")
    assert (state(one), state(other)) == ("shutdown", "shutdown")


def test_instance_without_room_is_not_taken_in(one: Agent, tmp_path: Path) -> None:
    start(one)
    migrate(one)
    full = agent_of(tmp_path, name="full", reserved_memory_mib=950)
    with pytest.raises(NoCapacity):
        fail_over(full)
    assert state(full) is None


def test_it_is_handed_over_in_allowed_directories_alone(one: Agent) -> None:
    start(one)
    for given in ({"directory": "/etc"}, {"name": "../web"}):
        with pytest.raises(RpcRefused):
            migrate(one, **given)
    assert state(one) == "running"


def test_moving_voids_what_is_remembered_of_any_node(one: Agent) -> None:
    start(one)
    assert isinstance(one.cache, ToldCache)
    one.cache.told.clear()
    migrate(one)
    assert one.cache.told == ["begin one, all", "end one, all"]
