"""Whoever may write to a node's queue reaches no records and no files by the uuids and paths that it names."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.nodes.rpc.errors import RpcRefused
from tests.unit.workers.agent.agents import agent_of, ask, change
from workers.agent.agent import Agent


def put(agent: Agent, directory: Path) -> None:
    change(
        agent,
        "file_put",
        owner=owner("a-file"),
        path=str(directory / "kept"),
        content=b"1",
        mode=0o600,
        new=True,
    )


def owner(uuid: str) -> dict[str, str]:
    return {"uuid": uuid, "stack": "s", "resource": "r"}


@pytest.mark.parametrize("uuid", ["", ".", "../../precious", "/{directory}/precious", "a-file/.."])
def test_uuid_leads_to_no_other_directory(tmp_path: Path, uuid: str) -> None:
    agent, precious = agent_of(tmp_path), tmp_path / "precious"
    precious.mkdir()
    (precious / "log").write_text("secret")
    put(agent, tmp_path / "files")
    uuid = uuid.format(directory=tmp_path)
    calls: list[tuple[Any, str, dict[str, Any]]] = [
        (ask, "process_look", {"uuid": uuid}),
        (ask, "file_find", {"owner": owner(uuid)}),
        (change, "process_forget", {"uuid": uuid}),
        (change, "file_remove", {"owner": owner(uuid), "path": "", "content": None}),
    ]
    for call, rpc, arguments in calls:
        with pytest.raises(RpcRefused, match="expected a name"):
            call(agent, rpc, **arguments)
    assert (precious / "log").exists()
    assert ask(agent, "file_find", owner=owner("a-file"))


def test_file_without_a_record_is_removed_only_from_the_allowed_directories(tmp_path: Path) -> None:
    agent, outside, inside = agent_of(tmp_path), tmp_path / "hosts", tmp_path / "files" / "hosts"
    for file in (outside, inside):
        file.write_text("known")
    with pytest.raises(RpcRefused, match="outside"):
        change(agent, "file_remove", owner=owner("u1"), path=str(outside), content=b"known")
    change(agent, "file_remove", owner=owner("u2"), path=str(inside), content=b"known")
    assert (outside.exists(), inside.exists()) == (True, False)


def test_file_runs_as_nobody_but_its_reader(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    with pytest.raises(RpcRefused, match="0777 at most, found 4755"):
        change(agent, "file_put", owner=owner("u1"), path="shell", content=b"", mode=0o4755, new=True)
    assert list((tmp_path / "files").iterdir()) == []
