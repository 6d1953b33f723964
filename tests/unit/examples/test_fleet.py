"""The example ``examples/fleet`` does what its page says, on the real service with real files."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import isotherm

TEMPLATE = Path(__file__).parents[3] / "examples" / "fleet" / "fleet.yaml"


def run(*words: str) -> Any:
    """Run a command that must succeed; return what it says as JSON."""
    result = CliRunner().invoke(isotherm, [*words, "-f", "json"], prog_name="isotherm")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def output(key: str) -> Any:
    return run("stack", "output", "show", "fleet", key)["value"]


def signal(policy: str) -> str:
    result = CliRunner().invoke(isotherm, ["stack", "resource", "signal", "fleet", policy])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let everything happen in a state directory of its own."""
    directory = tmp_path / "state"
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(directory))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL", "ISOTHERM_NODE_DIRECTORIES"):
        monkeypatch.delenv(name, raising=False)
    return directory / "files" / "fleet"


def test_the_fleet_grows_shrinks_changes_and_goes(state: Path) -> None:
    run("stack", "create", "fleet", "-t", str(TEMPLATE))
    shards = [str(state / "shards" / f"shard-{number}.conf") for number in range(4)]
    assert output("shards") == shards[:3]
    assert Path(shards[1]).read_text() == "shard 1\nrevision 1\n"
    (first,) = output("workers")
    assert json.loads(Path(first).read_text()) == {"shards": shards[:3]}

    assert "UPDATE_COMPLETE" in signal("more_workers")
    assert output("worker_count") == 2
    workers = output("workers")
    assert workers[0] == first
    assert "UPDATE_COMPLETE" in signal("fewer_workers")
    # The oldest went first.
    assert output("workers") == workers[1:]
    assert not Path(first).exists()
    # There is always one.
    assert "COMPLETE" not in signal("fewer_workers")
    (said,) = [
        event["reason"]
        for event in run("stack", "event", "list", "fleet")
        if event["action"] == "SIGNAL" and "stays" in event["reason"]
    ]
    assert said.startswith("the size stays 1")

    run("stack", "update", "fleet", "--existing", "-P", "shard_count=4", "-P", "revision=2")
    assert output("shards") == shards
    assert [Path(each).read_text() for each in shards] == [f"shard {n}\nrevision 2\n" for n in range(4)]
    assert output("workers") == workers[1:]
    assert json.loads(Path(workers[1]).read_text()) == {"shards": shards}

    run("stack", "delete", "fleet", "-y")
    assert not state.exists()
