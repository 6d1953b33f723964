"""What an agent is given in confidence is in none of its logs and records, whatever its handlers raise."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.nodes.rpc.errors import RpcFailed
from orchestrator.nodes.rpc.registry import Effect, node_rpc
from orchestrator.plugins.steps import ResourceFailure
from tests.services.logged import logged
from tests.unit.workers.agent.agents import agent_of, request_of, told
from workers.agent.agent import Agent
from workers.agent.commands.supervised import tail

MARKERS = ("argv-marker", "env-marker", "content-marker", "deep-marker")
GIVEN: dict[str, Any] = {
    "uuid": "of-this-row",
    "argv": ["program", "--key=argv-marker"],
    "env": {"PASSWORD": "env-marker"},
    "content": b"content-marker",
    "spec": {"user_data": ["deep-marker"]},
}


@pytest.mark.parametrize("error", [ResourceFailure, RuntimeError])
@pytest.mark.parametrize("effect", [Effect.MUTATE, Effect.READ])
def test_failure_that_quotes_its_arguments(tmp_path: Path, error: type[Exception], effect: Effect) -> None:
    def fail(agent: Agent, **arguments: Any) -> None:
        raise error(f"program of-this-row failed: {arguments}")

    agent = agent_of(tmp_path, rpcs={"fail": node_rpc("fail", effect=effect)(fail)})
    request = request_of("fail", **GIVEN)
    act: Callable[..., Any] = agent.carry_out if effect is Effect.MUTATE else agent.answer

    def run() -> None:
        with pytest.raises(RpcFailed):
            told(act(request))

    lines = logged(run)
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    if error is RuntimeError:
        assert "program of-this-row failed" in lines or "of-this-row failed" in lines
    assert [each for each in MARKERS if each in lines] == []
    assert [each for each in MARKERS[:3] if any(each.encode() in content for content in files)] == []


def test_a_line_of_output_without_its_beginning_begins_with_dots(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("first\n" + "x" * 9000 + "secret-end")
    assert tail(path, lines=10).startswith("...xxx")
    path.write_text("y" * 9000 + "\nlast line")
    assert tail(path, lines=1) == "last line"
    path.write_text("one\ntwo")
    assert tail(path, lines=10) == "one\ntwo"
