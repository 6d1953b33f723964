"""What an agent makes of what is delivered: once each, with what is void told before and after."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from cache.node_state.requests import INSTANCES_DATA, OK, HypervisorSection, MachineStateRequest
from orchestrator.nodes.rpc.errors import Gone, Late, NoSuchRpc, NotSupported, RpcFailed, RpcRetryable
from orchestrator.nodes.rpc.registry import load_rpcs, node_rpc
from tests.unit.workers.agent.agents import ToldCache, agent_of, ask, change, request_of, spec, told
from tests.waiting import PATIENCE_SECONDS
from workers.agent.agent import Agent


@pytest.fixture
def cache() -> ToldCache:
    return ToldCache()


@pytest.fixture
def agent(tmp_path: Path, cache: ToldCache) -> Agent:
    return agent_of(tmp_path, cache)


def instances(agent: Agent) -> dict[str, str]:
    """Return the states of an agent's instances, as its machine state says."""
    section = HypervisorSection("fake")
    request = MachineStateRequest(hypervisors=frozenset({section}))
    status, data, message = ask(agent, "node_snapshot", request=request.to_wire())["sections"][section.key]
    assert status == OK, message
    return {name: each["state"] for name, each in data[INSTANCES_DATA].items()}


def test_instance_lives_by_the_rpcs(agent: Agent) -> None:
    assert change(agent, "instance_start", hypervisor="fake", spec=spec())["memory_mib"] == 100
    assert instances(agent) == {"web": "running"}
    change(agent, "instance_pause", hypervisor="fake", name="web")
    assert instances(agent) == {"web": "paused"}
    change(agent, "instance_unpause", hypervisor="fake", name="web")
    change(agent, "instance_stop", hypervisor="fake", name="web", grace_seconds=0)
    assert instances(agent) == {"web": "shutdown"}
    change(agent, "instance_remove", hypervisor="fake", name="web")
    assert instances(agent) == {}
    assert ask(agent, "instance_look", hypervisor="fake", name="web") is None


def test_change_is_bracketed_and_a_read_is_not(agent: Agent, cache: ToldCache) -> None:
    change(agent, "instance_start", hypervisor="fake", spec=spec())
    assert cache.told == ["begin n1", "end n1"]
    instances(agent)
    assert cache.told == ["begin n1", "end n1"]


def test_change_that_fails_is_bracketed_too(agent: Agent, cache: ToldCache) -> None:
    with pytest.raises(NotSupported, match="'fake'"):
        change(agent, "instance_start", hypervisor="fakes", spec=spec())
    assert cache.told == ["begin n1", "end n1"]


def test_second_delivery_gets_what_the_first_has_brought_about(agent: Agent, cache: ToldCache) -> None:
    request = request_of("instance_start", hypervisor="fake", spec=spec())
    first = told(agent.carry_out(request))
    change(agent, "instance_stop", hypervisor="fake", name="web", grace_seconds=0)
    assert told(agent.carry_out(request)) == first
    assert instances(agent) == {"web": "shutdown"}, "it was not started again"
    assert cache.told == ["begin n1", "end n1"] * 3


def test_copy_of_a_failed_message_is_not_tried_again(agent: Agent) -> None:
    stop = request_of("instance_stop", hypervisor="fake", name="web", grace_seconds=0)
    assert agent.carry_out(stop).error is not None
    change(agent, "instance_start", hypervisor="fake", spec=spec())
    copy = agent.carry_out(stop)
    assert copy.error is not None
    assert copy.error.kind == "not_there"
    assert instances(agent) == {"web": "running"}


def test_newer_delivery_after_a_failure_runs_again(agent: Agent) -> None:
    request = request_of("instance_stop", hypervisor="fake", name="web", grace_seconds=0)
    assert agent.carry_out(request).error is not None
    failed = ask(agent, "operation", operation_id=request.operation_id)
    assert (failed["state"], failed["error"][0]) == ("failed", "not_there")
    change(agent, "instance_start", hypervisor="fake", spec=spec())
    told(agent.carry_out(replace(request, id="newer")))
    assert ask(agent, "operation", operation_id=request.operation_id)["state"] == "done"


def test_failure_of_an_earlier_request_says_nothing_of_a_later_one(agent: Agent) -> None:
    request = request_of("instance_stop", "stop", hypervisor="fake", name="web", grace_seconds=0)
    agent.carry_out(request)
    assert ask(agent, "operation", operation_id="stop", request_id=request.id)["state"] == "failed"
    assert ask(agent, "operation", operation_id="stop", request_id="later")["state"] == "unknown"


def test_removed_instance_is_not_brought_back_by_a_late_start(agent: Agent) -> None:
    change(agent, "instance_start", hypervisor="fake", spec=spec())
    change(agent, "instance_remove", hypervisor="fake", name="web")
    with pytest.raises(Gone, match="was removed"):
        change(agent, "instance_start", hypervisor="fake", spec=spec())
    assert instances(agent) == {}


def test_what_was_removed_before_it_was_made_is_never_made(agent: Agent) -> None:
    change(agent, "instance_remove", hypervisor="fake", name="web")
    with pytest.raises(Gone):
        change(agent, "instance_start", hypervisor="fake", spec=spec())


def test_what_is_past_its_deadline_is_dropped_and_said_so(agent: Agent, cache: ToldCache) -> None:
    late = replace(request_of("instance_start", hypervisor="fake", spec=spec()), deadline=1.0)
    with pytest.raises(Late):
        told(agent.carry_out(late))
    assert (instances(agent), cache.told) == ({}, [])
    outcome = ask(agent, "operation", operation_id=late.operation_id, request_id=late.id)
    assert (outcome["state"], outcome["error"][0]) == ("failed", "late")


def test_late_copy_does_not_change_what_is_known(agent: Agent) -> None:
    request = request_of("instance_start", hypervisor="fake", spec=spec())
    told(agent.carry_out(request))
    agent.carry_out(replace(request, deadline=1.0))
    assert ask(agent, "operation", operation_id=request.operation_id)["state"] == "done"


def test_agent_started_anew_remembers(agent: Agent, tmp_path: Path) -> None:
    request = request_of("instance_start", hypervisor="fake", spec=spec())
    told(agent.carry_out(request))
    again = agent_of(tmp_path)
    assert ask(again, "operation", operation_id=request.operation_id)["state"] == "done"
    assert again.incarnation != agent.incarnation


def test_operation_is_waited_for(agent: Agent) -> None:
    request = request_of("instance_start", hypervisor="fake", spec=spec())
    answers: list[str] = []
    waiting = threading.Thread(
        target=lambda: answers.append(
            ask(agent, "operation", operation_id=request.operation_id, wait_seconds=30)["state"]
        )
    )
    waiting.start()
    told(agent.carry_out(request))
    waiting.join(PATIENCE_SECONDS)
    assert answers == ["done"]


def test_one_id_is_not_given_to_two_calls(agent: Agent) -> None:
    told(agent.carry_out(request_of("instance_start", "same", hypervisor="fake", spec=spec())))
    with pytest.raises(RpcFailed, match="another call before, of instance_start"):
        told(agent.carry_out(request_of("instance_start", "same", hypervisor="fake", spec=spec("db"))))


def test_duplicate_that_comes_meanwhile_is_dropped(agent: Agent) -> None:
    request = request_of("instance_start", hypervisor="fake", spec=spec())
    with agent.journal.delivery(request) as delivery:
        with pytest.raises(RpcRetryable, match="under way"):
            told(agent.carry_out(replace(request, id="second")))
        assert ask(agent, "operation", operation_id=request.operation_id)["state"] == "running"
        delivery.succeeded({"by": "first"})
    assert ask(agent, "operation", operation_id=request.operation_id)["result"] == {"by": "first"}


@pytest.mark.parametrize(
    ("rpc", "arguments", "said"),
    [
        ("instance_stat", {}, "did you mean 'instance_start'"),
        ("instance_start", {"hypervisor": "fake"}, "spec"),
        ("node_version", {}, "mailbox"),
    ],
)
def test_call_that_is_none_is_refused(agent: Agent, rpc: str, arguments: dict[str, str], said: str) -> None:
    request = request_of(rpc, **arguments)
    with pytest.raises(NoSuchRpc, match=said):
        told(agent.carry_out(request))
    assert ask(agent, "operation", operation_id=request.operation_id)["error"][0] == "no_such_rpc"


def test_change_does_not_go_by_the_mailbox(agent: Agent) -> None:
    with pytest.raises(NoSuchRpc, match="queue"):
        ask(agent, "instance_start", hypervisor="fake", spec=spec())
    assert instances(agent) == {}


def test_result_that_cannot_be_put_down_is_a_failure(tmp_path: Path) -> None:
    def answer(agent: Agent) -> object:
        return object()

    agent = agent_of(tmp_path, rpcs={"odd": node_rpc("odd")(answer), **load_rpcs()})
    request = request_of("odd")
    with pytest.raises(RpcFailed):
        told(agent.carry_out(request))
    assert ask(agent, "operation", operation_id=request.operation_id)["state"] == "failed"


def test_unforeseen_error_shows_nothing_of_itself(agent: Agent) -> None:
    with pytest.raises(RpcFailed) as caught:
        change(agent, "instance_start", hypervisor="fake", spec=spec(disks=["my-secret"]))
    assert "my-secret" not in str(caught.value)
