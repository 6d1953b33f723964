"""A machine that starts anew after the reply: once, however often that is delivered."""

import os
import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from orchestrator.nodes.rpc.errors import NotSupported
from tests.unit.workers.agent.agents import ToldCache, agent_of, ask, change, request_of, told
from tests.waiting import PATIENCE_SECONDS
from workers.agent.fence import Fence


def test_command_runs_after_its_success_is_on_record_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.rpcs.node._POWERCYCLE_DELAY_SECONDS", 0.0)
    came, cache = tmp_path / "came", ToldCache()
    command = ["/bin/sh", "-c", f"echo x >> {came}; echo done > {tmp_path}/fifo"]
    os.mkfifo(tmp_path / "fifo")
    agent = agent_of(tmp_path, cache, powercycle_command=command)
    request = request_of("node_powercycle")
    assert told(agent.carry_out(request)) == {"delay_seconds": 0.0}
    assert ask(agent, "operation", operation_id=request.operation_id)["state"] == "done"
    assert (tmp_path / "fifo").read_text() == "done\n"
    told(agent.carry_out(request))
    assert cache.told == ["begin n1", "end n1; deferred", "begin n1", "end n1"]
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(PATIENCE_SECONDS)
    assert came.read_text() == "x\n"


def test_machine_is_not_started_anew_by_an_agent_whose_lease_ran_out_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.rpcs.node._POWERCYCLE_DELAY_SECONDS", 3600.0)
    now, came = [1000.0], tmp_path / "came"
    fence = Fence(40.0, lambda: None, clock=lambda: now[0], wall_clock=lambda: now[0])
    fence.renewed(fence.now())
    agent = agent_of(tmp_path, powercycle_command=["/bin/touch", str(came)])
    agent.stand_behind(fence)
    before = set(threading.enumerate())
    change(agent, "node_powercycle")
    (timer,) = (each for each in set(threading.enumerate()) - before if isinstance(each, threading.Timer))
    now[0] += 41.0
    # What it would do when its time has come.
    with capture_logs() as logs:
        timer.function(*timer.args, **timer.kwargs)
    timer.cancel()
    assert [each["event"] for each in logs] == ["the machine is not booted"]
    assert not came.exists()


def test_machine_is_not_started_anew_unless_its_operator_says_how(tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match=r"agent\.powercycle_command"):
        change(agent_of(tmp_path), "node_powercycle")
