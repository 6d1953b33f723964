"""The definition of a stack by the command line on the real service: as it was given, without what is hidden."""

import json
from pathlib import Path

import pytest
import yaml

from orchestrator.queries.definitions import _shown_environment
from orchestrator.template.hiding import HIDDEN
from tests.unit.orchestrator.cli.commands import TEMPLATE, run

ENVIRONMENT = """\
parameters: {word: moon, password: gue55}
parameter_defaults: {inner_password: 1nner}
resource_registry: {"My::Test": "OS::Heat::TestResource"}
observation: {mode: detect}
"""


@pytest.fixture(autouse=True)
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a stack with an environment and a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "web.yaml").write_text(TEMPLATE.replace("{get_param: word}", "{get_file: said.txt}"))
    (tmp_path / "env.yaml").write_text(ENVIRONMENT)
    (tmp_path / "said.txt").write_text("good morning")
    made = run("stack", "create", "web", "-t", "web.yaml", "-e", "env.yaml")
    assert made.exit_code == 0, made.output


def test_the_template_is_the_text_without_hidden_defaults() -> None:
    shown = run("stack", "template", "show", "web").stdout
    text = Path("web.yaml").read_text()
    assert shown == text.replace("default: s3cret", "default: ******")
    as_data = json.loads(run("stack", "template", "show", "web", "-f", "json").stdout)
    assert (as_data["file"], as_data["source"]) == ("web.yaml", shown)


def test_environments_show_what_is_known_to_be_open() -> None:
    shown = run("stack", "environment", "show", "web").stdout
    assert yaml.safe_load(shown) == {
        "parameters": {"word": "moon", "password": "******"},
        "parameter_defaults": {"inner_password": "******"},
        "resource_registry": {"My::Test": "OS::Heat::TestResource"},
        "observation": {"mode": "detect"},
    }
    (one,) = json.loads(run("stack", "environment", "show", "web", "-f", "json").stdout)
    assert one["file"] == "env.yaml"
    assert "gue55" not in shown


def test_options_of_event_sinks_are_masked() -> None:
    given = {"event_sinks": [{"type": "webhook", "secret": "t0ken"}], "parameters": None}
    assert _shown_environment(given, {"word"}) == {"event_sinks": HIDDEN, "parameters": HIDDEN}


def test_files_are_listed_and_shown() -> None:
    listed = json.loads(run("stack", "files", "list", "web", "-f", "json").stdout)
    assert [(each["name"].rpartition("/")[2], each["characters"]) for each in listed] == [("said.txt", 12)]
    name = listed[0]["name"]
    assert run("stack", "files", "show", "web", name).stdout == "good morning"
    refused = run("stack", "files", "show", "web", name.replace("said", "siad"))
    assert refused.exit_code == 2
    assert "did you mean" in refused.stderr


def test_the_definition_of_an_earlier_operation_is_shown(tmp_path: Path) -> None:
    (first,) = json.loads(run("stack", "history", "web", "-f", "json").stdout)
    (tmp_path / "said.txt").write_text("good night")
    assert run("stack", "update", "web", "-t", "web.yaml").exit_code == 0
    assert run("stack", "environment", "show", "web").stdout == ""
    assert "moon" in run("stack", "environment", "show", "web", "--traversal", first["id"]).stdout


def test_resource_types_are_filtered_by_their_names() -> None:
    def listed(pattern: str) -> set[str]:
        done = run("resource-type", "list", "--filter", pattern, "-f", "json")
        return {each["name"] for each in json.loads(done.stdout)}

    assert listed("os::heat::random*") == listed("RandomString") == {"OS::Heat::RandomString"}
    assert listed("OS::Heat::R?ndom") == set()
