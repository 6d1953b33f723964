"""``isotherm resource-type``, on the types that are really installed."""

import json
import re
from pathlib import Path

import pytest
import yaml

from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import Support, SupportStatus
from tests.unit.orchestrator.cli.fake_service import Terminal


def test_installed_types_are_listed_with_a_sentence_each(terminal: Terminal) -> None:
    listed = json.loads(terminal.run("resource-type", "list", "-f", "json").stdout)
    names = [entry["name"] for entry in listed]
    assert "OS::Heat::RandomString" in names
    assert names == sorted(names)
    assert all(entry["description"] for entry in listed)


def test_the_list_says_which_types_are_outdated(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    class Crate(Resource):
        description = "A box."
        support_status = SupportStatus(status=Support.DEPRECATED, version="1.0", substitute="Shelf::Box")

    monkeypatch.setattr(ResourceTypes, "load", lambda: {"Shelf::Crate": Crate})
    table = terminal.run("resource-type", "list").stdout
    assert table.splitlines()[1].split(maxsplit=1)[1] == "A box. (deprecated since 1.0: use Shelf::Box)"
    (listed,) = json.loads(terminal.run("resource-type", "list", "-f", "json").stdout)
    assert listed["support_status"]["status"] == "deprecated"
    assert listed["support_status"]["substitute"] == "Shelf::Box"


def test_show_has_properties_with_their_rules_and_attributes(terminal: Terminal) -> None:
    shown = terminal.run("resource-type", "show", "OS::Heat::RandomString").stdout
    length = next(line for line in shown.splitlines() if line.startswith("length"))
    assert "integer" in length
    assert "must be" in length
    assert "\nattributes\n" in shown


def test_show_has_what_an_update_policy_may_say(terminal: Terminal) -> None:
    shown = terminal.run("resource-type", "show", "OS::Heat::ResourceGroup").stdout
    policy = shown.split("\nupdate policy\n")[1]
    assert "rolling_update.min_in_service" in policy
    assert "replaces" not in policy


def test_a_misspelt_type_names_the_nearest(terminal: Terminal) -> None:
    result = terminal.run("resource-type", "show", "OS::Heat::RandomStrin")
    assert result.exit_code == 2
    assert "'OS::Heat::RandomString'" in result.stderr


def test_show_has_where_the_type_comes_from_and_how_it_is_used(terminal: Terminal) -> None:
    shown = terminal.run("resource-type", "show", "OS::Heat::RandomString").stdout
    assert re.search(r"^package +isotherm \d", shown, flags=re.MULTILINE)
    assert "workers.resources.core.random_string:RandomString" in shown
    assert "type: OS::Heat::RandomString" in shown.split("\nexample\n")[1]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_show_has_the_same_for_programs(terminal: Terminal, form: str) -> None:
    shown = yaml.safe_load(terminal.run("resource-type", "show", "OS::Heat::Delay", "-f", form).stdout)
    assert shown["name"] == "OS::Heat::Delay"
    assert shown["origin"]["package"] == "isotherm"
    assert shown["properties"]["actions"]["schema"]["*"]["constraints"][0]["allowed_values"][0] == "CREATE"
    assert "OS::Heat::Delay" in shown["example"]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_template_of_a_type_is_written(terminal: Terminal, tmp_path: Path, form: str) -> None:
    written = terminal.run("resource-type", "template", "OS::Heat::RandomString", "-f", form).stdout
    (tmp_path / "wrapper.yaml").write_text(written)
    result = terminal.run("template", "validate", "-t", str(tmp_path / "wrapper.yaml"), "-f", "json")
    assert result.exit_code == 0, result.stderr
    declared = {each["name"]: each for each in json.loads(result.stdout)["parameters"]}
    assert declared["length"]["default"] == 32
    assert declared["length"]["constraints"] == ["must be from 1 to 512"]


def test_a_template_of_a_misspelt_type_names_the_nearest(terminal: Terminal) -> None:
    result = terminal.run("resource-type", "template", "OS::Heat::RandomStrin")
    assert result.exit_code == 2
    assert "'OS::Heat::RandomString'" in result.stderr
