"""``isotherm plugin``."""

import json
from pathlib import Path

import pytest

from tests.unit.orchestrator.cli.fake_service import Terminal
from tests.unit.packages import install

SOURCE = """
    from hooks.lifecycle import LifecyclePlugin

    class Early(LifecyclePlugin):
        description = "Comes early."
        ordinal = 1

    class Broken(LifecyclePlugin):
        def __init__(self, options):
            raise RuntimeError("the moon is full")
"""


@pytest.fixture(autouse=True)
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with two plugins, one of which is broken."""
    entries = {"isotherm.lifecycle": ["early = acme_command:Early", "broken = acme_command:Broken"]}
    install(tmp_path, "acme_command", SOURCE, entries)
    monkeypatch.syspath_prepend(tmp_path)


def test_the_list_has_a_line_for_each_and_its_errors(terminal: Terminal) -> None:
    listed = terminal.run("plugin", "list", "--namespace", "lifecycle")
    assert listed.exit_code == 0, listed.output
    heading, *lines = listed.stdout.splitlines()
    assert heading.split() == ["NAMESPACE", "NAME", "PACKAGE", "VERSION", "ORDER", "ENABLED", "ERRORS"]
    assert lines[0].split() == ["isotherm.lifecycle", "early", "acme_command", "1.0", "1", "yes"]
    (broken,) = [line for line in lines if " broken " in line]
    assert broken.endswith("cannot be made: RuntimeError('the moon is full')")


def test_the_list_in_json_has_everything(terminal: Terminal) -> None:
    listed = json.loads(terminal.run("plugin", "list", "-f", "json").stdout)
    assert {each["namespace"] for each in listed} >= {"isotherm.resources", "isotherm.functions"}
    (early,) = [each for each in listed if each["name"] == "early"]
    assert early == {
        "namespace": "isotherm.lifecycle",
        "name": "early",
        "package": "acme_command",
        "version": "1.0",
        "target": "acme_command:Early",
        "order": 1,
        "enabled": True,
        "errors": [],
    }


def test_a_plugin_is_shown_with_its_options(terminal: Terminal) -> None:
    shown = terminal.run("plugin", "show", "limits").stdout
    assert "isotherm.lifecycle" in shown
    assert "hooks.builtin.limits:Limits" in shown
    fields, options = shown.split("\noptions\n")
    assert [line.split()[1] for line in fields.splitlines() if line.startswith("enabled")] == ["no"]
    assert options.splitlines()[0].split() == ["NAME", "TYPE", "DEFAULT", "SETTINGS", "DESCRIPTION"]
    assert "types.NAME.refuse" in options
    early = json.loads(terminal.run("plugin", "show", "early", "-f", "json").stdout)
    assert (early["description"], early["order"], early["options"]) == ("Comes early.", 1, [])


def test_what_is_not_there_is_bad_input(terminal: Terminal) -> None:
    refused = terminal.run("plugin", "show", "earli")
    assert refused.exit_code == 2
    assert "did you mean 'early'?" in refused.stderr
    assert terminal.run("plugin", "list", "--namespace", "nowhere").exit_code == 2
