"""What the command line says of functions and versions."""

import json

import pytest
import yaml

from orchestrator.template.functions.registry import all_functions, condition_functions_of, functions_of
from orchestrator.template.versions import CFN_AWS, FORMATS, ROCKY, V2013_05_23, WALLABY, TemplateVersion
from tests.unit.orchestrator.cli.fake_service import Terminal


def names(terminal: Terminal, *words: str) -> set[str]:
    result = terminal.run("template", "functions", *words, "-f", "json")
    assert result.exit_code == 0, result.output
    return {function["name"] for function in json.loads(result.stdout)}


def test_functions_are_those_of_the_latest_version(terminal: Terminal) -> None:
    assert names(terminal) == functions_of(WALLABY).keys()


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("rocky", ROCKY),
        ("2013-05-23", V2013_05_23),
        ("2010-09-09", CFN_AWS),
        ("AWSTemplateFormatVersion.2010-09-09", CFN_AWS),
    ],
)
def test_functions_are_those_of_the_version_asked_for(
    terminal: Terminal, name: str, version: TemplateVersion
) -> None:
    assert names(terminal, "--version", name) == functions_of(version).keys()
    in_conditions = names(terminal, "--version", name, "--conditions")
    assert in_conditions == condition_functions_of(version).keys()


def test_a_function_has_its_call_its_lifetime_and_what_it_gives(terminal: Terminal) -> None:
    lines = terminal.run("template", "functions", "--version", "2015-04-30").stdout.splitlines()
    assert lines[0].split() == ["NAME", "CALL", "SINCE", "UNTIL", "GIVES"]
    rows = {line.split()[0]: line for line in lines}
    assert "Fn::Select: [index or key, list or map]" in rows["Fn::Select"]
    assert "  2013-05-23  2015-10-15  " in rows["Fn::Select"]
    assert "get_param: name or get_param: [name, key or index ...]" in rows["get_param"]
    assert rows["digest"].split("2015-04-30")[1].strip().startswith("the digest of")


def test_a_lifetime_is_that_in_conditions_where_conditions_are_asked_for(terminal: Terminal) -> None:
    def since(*words: str) -> dict[str, str]:
        listed = json.loads(terminal.run("template", "functions", *words, "-f", "json").stdout)
        return {function["name"]: function["since"] for function in listed}

    assert since()["get_param"] == "2013-05-23"
    assert since("--conditions")["get_param"] == "2016-10-14"


def test_json_and_yaml_say_the_same_and_more_than_the_table(terminal: Terminal) -> None:
    as_json = json.loads(terminal.run("template", "functions", "-f", "json").stdout)
    assert yaml.safe_load(terminal.run("template", "functions", "-f", "yaml").stdout) == as_json
    split = next(function for function in as_json if function["name"] == "str_split")
    assert split["calls"] == ["str_split: [delimiter, text]", "str_split: [delimiter, text, index]"]
    assert split["versions"][0] == split["since"] == "2015-10-15"
    assert split["until"] is None
    assert split["details"]
    assert split["examples"][0]["result"] == ["a", "b", "", "c"]


@pytest.mark.parametrize(("name", "near"), [("roky", "'rocky'"), ("2018-08-13", "'2018-08-31'")])
def test_an_unknown_version_is_bad_input_with_the_nearest(terminal: Terminal, name: str, near: str) -> None:
    result = terminal.run("template", "functions", "--version", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"there is no version {name!r}" in result.stderr
    assert f"did you mean {near}?" in result.stderr


def test_versions_are_listed_with_what_they_change(terminal: Terminal) -> None:
    result = terminal.run("template", "versions")
    assert result.exit_code == 0
    rows = {line.split()[1]: line for line in result.stdout.splitlines()}
    assert rows.keys() == {"DATE", *(version.date for versions in FORMATS.values() for version in versions)}
    assert rows["2016-04-08"].endswith("adds: map_merge")
    assert rows["2015-10-15"].endswith("adds: str_split; removes: Fn::Select")
    assert "newton" in rows["2016-10-14"]
    assert rows["2016-10-14"].endswith("; adds in conditions: and, equals, get_param, not, or")
    assert rows["2010-09-09"].startswith("AWSTemplateFormatVersion")


def test_versions_name_every_function_in_json(terminal: Terminal) -> None:
    listed = json.loads(terminal.run("template", "versions", "-f", "json").stdout)
    added = {name for version in listed for key in ("adds", "adds_in_conditions") for name in version[key]}
    assert added == all_functions().keys()
    assert {version["format"] for version in listed} == FORMATS.keys()
