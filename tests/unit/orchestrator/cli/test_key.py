"""What `isotherm key` and `isotherm queue refused` do, and that no process starts on a broker without keys."""

import json
import stat
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.keys.key import AGENT, ENGINE, JOB, NODE
from orchestrator.keys.key_file import read_keys
from orchestrator.queue.processes import require_keys
from orchestrator.service import Service
from orchestrator.store.installation.refused_messages import RefusedMessage
from tests.keys import VARIABLE
from tests.migrated import migrate
from tests.unit.orchestrator.cli.fake_service import FakeService, Terminal


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for a file of keys, which does not exist yet."""
    path = tmp_path / "keys" / "keys.json"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def states(path: Path) -> list[tuple[str, str, str]]:
    return [(key.use, key.node, key.state) for key in read_keys(path)]


def test_keys_are_made_rotated_and_removed(keys: Path, terminal: Terminal) -> None:
    assert terminal.run("key", "create").exit_code == 0
    assert states(keys) == [(use, "", "active") for use in (JOB, ENGINE, NODE)]
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    secrets = [key["secret"] for key in json.loads(keys.read_text())["keys"]]
    assert terminal.run("key", "create").exit_code == 0
    assert [state for *_, state in states(keys)] == ["active"] * 3 + ["new"] * 3
    assert terminal.run("key", "rotate").exit_code == 0
    assert [state for *_, state in states(keys)] == ["old"] * 3 + ["active"] * 3
    listed = terminal.run("key", "list", "-f", "json")
    assert not [secret for secret in secrets if secret in listed.stdout], "secrets are never shown"
    assert [each["state"] for each in json.loads(listed.stdout)] == ["old"] * 3 + ["active"] * 3
    assert terminal.run("key", "remove").exit_code == 0
    assert [state for *_, state in states(keys)] == ["active"] * 3


def test_a_nodes_key_comes_with_the_others_if_there_are_none_and_missing_ones_alone_on_demand(
    keys: Path, terminal: Terminal
) -> None:
    for _ in range(2):
        done = terminal.run("key", "create", "--missing", "--node", "host1")
        assert done.exit_code == 0
        assert [*states(keys)] == [
            *((use, "", "active") for use in (JOB, ENGINE, NODE)),
            (AGENT, "host1", "active"),
        ]
    assert terminal.run("key", "create", "--node", "host1").exit_code == 0
    assert states(keys)[-1] == (AGENT, "host1", "new")
    refused = terminal.run("key", "create", "--node", "a node")
    assert refused.exit_code == 2
    assert "is no name of a node" in refused.stderr


def test_an_agent_and_a_client_get_what_they_need_and_no_more(
    keys: Path, terminal: Terminal, tmp_path: Path
) -> None:
    for node in ("host1", "host2"):
        terminal.run("key", "create", "--node", node)
    agents, clients = tmp_path / "agent.json", tmp_path / "client.json"
    assert terminal.run("key", "export", "--node", "host1", "-o", str(agents)).exit_code == 0
    assert terminal.run("key", "export", "--client", "-o", str(clients)).exit_code == 0
    assert [(key.use, key.node, bool(key.secret)) for key in read_keys(agents)] == [
        (AGENT, "host1", True),
        (NODE, "", False),
    ]
    assert {key.use for key in read_keys(clients)} == {JOB}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (agents, clients)} == {0o600}
    assert terminal.run("key", "export", "--node", "host3", "-o", str(agents)).exit_code == 2
    assert terminal.run("key", "export", "-o", str(agents)).exit_code == 2


@pytest.mark.parametrize("words", [("list",), ("rotate",), ("remove",), ("export", "--client", "-o", "x")])
def test_without_a_file_the_commands_say_so(words: tuple[str, ...], keys: Path, terminal: Terminal) -> None:
    done = terminal.run("key", *words)
    assert done.exit_code == 2
    assert str(keys) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("uses", "node"), [((ENGINE, JOB, NODE), ""), ((AGENT,), "host1")], ids=["engine", "agent"]
)
def test_a_process_with_a_broker_and_no_key_names_the_command_that_makes_one(
    keys: Path, terminal: Terminal, uses: tuple[str, ...], node: str
) -> None:
    settings = Settings(broker_url="redis://127.0.0.1:1/0")
    assert settings.effective_key_file == keys
    with pytest.raises(InvalidInput, match="isotherm key create"):
        require_keys(settings, *uses, node=node)
    assert terminal.run("key", "create", *(["--node", node] if node else [])).exit_code == 0
    require_keys(settings, *uses, node=node)
    with pytest.raises(InvalidInput, match="isotherm key create --node host2"):
        require_keys(settings, AGENT, node="host2")


def message(no: int) -> RefusedMessage:
    return RefusedMessage(
        received_at=1000.0 + no,
        place="stacks",
        reason="unsigned",
        sentence="it is not signed",
        task="stack.create",
        message_id=f"m{no}",
        size_bytes=no,
        digest="0" * 64,
    )


def test_refused_messages_are_listed_shown_and_purged(tmp_path: Path) -> None:
    settings = Settings(state_directory=tmp_path)
    migrate(settings.effective_database_url)
    with Service.open(settings) as service:
        table = service.refused
        table.add({("stacks", "unsigned"): 1500, ("checks", "late"): 1}, [message(no) for no in range(1100)])
        table.add({("stacks", "unsigned"): 2}, [])
        assert [(each.place, each.reason, each.amount) for each in service.refused.counts()] == [
            ("checks", "late", 1),
            ("stacks", "unsigned", 1502),
        ]
        newest = service.refused.newest(2)
        assert [each.message_id for each in newest] == ["m1099", "m1098"]
        assert len(service.refused.newest(10_000)) == 1000, "the table is bounded"
        assert service.refused.get(newest[0].no) == newest[0]
        assert service.refused.purge() == 1503
        assert service.refused.counts() == []
        assert service.refused.newest(1) == []


def test_the_commands_of_refused_messages_show_them(terminal: Terminal, service: FakeService) -> None:
    service.refused.held = [message(1)]
    listed = terminal.run("queue", "refused", "list", "-f", "json")
    assert listed.exit_code == 0, listed.stderr
    found = json.loads(listed.stdout)
    assert [each["message_id"] for each in found["newest"]] == ["m1"]
    assert "stack.create" in terminal.run("queue", "refused", "list").stdout
    assert "it is not signed" in terminal.run("queue", "refused", "show", "0").stdout
    assert terminal.run("queue", "refused", "show", "7").exit_code == 2
    assert json.loads(terminal.run("queue", "refused", "purge", "-f", "json").stdout) == {"purged": 1}
