"""`isotherm software` on the real service: configs are kept, deployed and looked up by servers."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm

DEFINITION = "inputs: [{name: who, default: all}]\noutputs: [{name: said}]\noptions: {as: root}\n"


def run(*words: str) -> Result:
    return CliRunner().invoke(isotherm, ["software", *words], prog_name="isotherm")


def data(*words: str) -> Any:
    result = run(*words, "-f", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script and its definition in a directory with a state directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "greet.sh").write_text("echo $who")
    (tmp_path / "greet.yaml").write_text(DEFINITION)


def greeting() -> dict[str, Any]:
    """Return a new config."""
    files = ("--config-file", "greet.sh", "--definition-file", "greet.yaml")
    found: dict[str, Any] = data("config", "create", "greet", *files, "--group", "script")
    return found


def test_config_is_kept_deployed_and_deleted() -> None:
    config = greeting()
    assert (config["config"], config["options"]) == ("echo $who", {"as": "root"})
    config_id = config["id"]
    assert data("config", "show", config_id) == config
    assert data("config", "list") == [{name: config[name] for name in ("id", "name", "group", "created_at")}]
    made = data("deployment", "create", "--server", "web-1", "--config", config_id, "-i", "who=you")
    assert (made["action"], made["status"], made["input_values"]) == ("UPDATE", "IN_PROGRESS", {"who": "you"})
    (metadata,) = data("deployment", "metadata", "web-1")
    assert metadata["inputs"] == [{"name": "who", "default": "all", "type": "String", "value": "you"}]
    assert data("deployment", "list", "--server", "web-1") == [data("deployment", "show", made["id"])]
    refused = run("config", "delete", config_id)
    assert refused.exit_code == 2
    assert f"used by the deployment '{made['id']}'" in refused.stderr
    assert data("deployment", "delete", made["id"]) == {"id": made["id"], "state": "deleted"}
    assert data("config", "delete", config_id)["state"] == "deleted"
    assert data("config", "list") == []


def test_configs_are_listed_in_parts_a_row_each() -> None:
    first, second = greeting(), greeting()
    rows = [line.split() for line in run("config", "list", "--limit", "1").stdout.splitlines()]
    assert rows[0] == ["ID", "NAME", "GROUP", "CREATED"]
    assert [row[:3] for row in rows[1:]] == [[second["id"], "greet", "script"]]
    assert [each["id"] for each in data("config", "list", "--marker", second["id"])] == [first["id"]]


@pytest.mark.parametrize(
    ("definition", "sentence"),
    [
        ("inputs: [{}]", "inputs[0]: it has no name"),
        ("[a]", "greet.yaml: expected a map of inputs, outputs and options, found list"),
        ("{", "greet.yaml: it is no YAML"),
        (b"\xff", "greet.yaml: expected text in UTF-8"),
    ],
)
def test_definition_that_is_wrong_is_refused(definition: str | bytes, sentence: str) -> None:
    Path("greet.yaml").write_bytes(definition if isinstance(definition, bytes) else definition.encode())
    refused = run("config", "create", "greet", "--definition-file", "greet.yaml")
    assert refused.exit_code == 2
    assert sentence in refused.stderr
    assert data("config", "list") == []


def test_file_that_is_missing_is_named() -> None:
    refused = run("config", "create", "greet", "--config-file", "none.sh")
    assert refused.exit_code == 2
    assert "none.sh: the file cannot be read: No such file or directory" in refused.stderr
