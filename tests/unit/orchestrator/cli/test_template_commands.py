"""Templates are checked and shown without anything being touched."""

import json
from pathlib import Path

import pytest
import yaml

from tests.unit.orchestrator.cli.fake_service import Terminal

GROUPED = """\
# A comment.
heat_template_version: rocky
description: Two groups
parameter_groups:
- label: Network
  description: where it is
  parameters: [net, zone]
- parameters: [password]
parameters:
  password: {type: string, hidden: 'yes', default: s3cret}
  zone: {type: string, default: a, constraints: [{allowed_values: [a, b]}, {length: {max: 3}}]}
  net: {type: string, description: its name}
  more: {type: boolean, default: 'on'}
conditions:
  in_a: {equals: [{get_param: zone}, a]}
  by_net: {equals: [{get_param: net}, big]}
resources:
  one: &one {type: OS::Heat::TestResource, properties: {value: {if: [by_net, 1, 2]}}}
  two: {<<: *one, condition: {not: in_a}, depends_on: one, deletion_policy: retain}
outputs:
  said: {value: {get_attr: [one, output]}}
"""
WRONG = """\
heat_template_version: rocky
parameters: {size: {type: numbr}}
resources:
  one: {type: OS::Heat::TestResource, properties: {valeu: 1}}
  two: {type: OS::Heat::Nonne}
"""


@pytest.fixture
def grouped(tmp_path: Path) -> str:
    path = tmp_path / "grouped.yaml"
    path.write_text(GROUPED)
    return str(path)


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong.yaml"
    path.write_text(WRONG)
    return str(path)


def validated(terminal: Terminal, *words: str) -> list[list[str]]:
    """Return the blocks of lines that a valid template gives."""
    result = terminal.run("template", "validate", "-t", *words)
    assert result.exit_code == 0, result.output
    return [block.splitlines() for block in result.stdout.split("\n\n")]


# -- validate --------------------------------------------------------------------------------------------------


def test_a_valid_template_is_ok_and_says_what_it_is(terminal: Terminal, grouped: str) -> None:
    about, *_ = validated(terminal, grouped)
    assert [line.split(maxsplit=1) for line in about] == [
        ["template", grouped],
        ["version", "2018-08-31"],
        ["description", "Two groups"],
        ["state", "ok"],
    ]


def test_parameters_stand_in_their_groups_and_in_the_groups_order(terminal: Terminal, grouped: str) -> None:
    _, network, unlabelled, others, *_ = validated(terminal, grouped)
    assert network[0] == "parameters, Network: where it is"
    assert network[1].split() == ["NAME", "TYPE", "DEFAULT", "VALUE", "CONSTRAINTS", "DESCRIPTION"]
    assert network[2].split() == ["net", "string", "(required)", "its", "name"]
    assert network[3].split(maxsplit=4) == [
        *("zone", "string", "a", "a"),
        "must be one of 'a', 'b'; must have a length of at most 3",
    ]
    assert (unlabelled[0], unlabelled[2].split()) == (
        "parameters",
        ["password", "string", "******", "******"],
    )
    assert (others[0], others[2].split()) == ("other parameters", ["more", "boolean", "on", "true"])


def test_parameters_without_groups_are_one_table(terminal: Terminal, grouped: str) -> None:
    text = "".join(
        line
        for line in GROUPED.splitlines(keepends=True)
        if not line.startswith(("parameter_groups", "- ", "  des", "  parameters"))
    )
    Path(grouped).write_text(text)
    titles = [block[0] for block in validated(terminal, grouped)[1:]]
    assert titles == ["parameters", "conditions", "resources", "outputs"]


def test_conditions_have_their_verdicts_and_resources_say_whether_they_are_there(
    terminal: Terminal, grouped: str
) -> None:
    *_, conditions, resources, outputs = validated(terminal, grouped)
    assert [line.split(maxsplit=1) for line in conditions[2:]] == [
        ["in_a", "holds"],
        ["by_net", "depends on parameters without a value"],
    ]
    assert [line.split(maxsplit=1) for line in resources[2:]] == [
        ["one", "OS::Heat::TestResource"],
        ["two", "(disabled: its condition does not hold)"],
    ]
    assert outputs[1:] == ["KEY", "said"]
    *_, conditions, resources, _ = validated(terminal, grouped, "-P", "zone=b", "-P", "net=big")
    assert [line.split(maxsplit=1)[1] for line in conditions[2:]] == ["does not hold", "holds"]
    assert "disabled" not in "".join(resources)


def test_the_view_is_json_and_shows_no_secret(terminal: Terminal, grouped: str) -> None:
    result = terminal.run("template", "validate", "-t", grouped, "-f", "json")
    assert "s3cret" not in result.stdout
    view = json.loads(result.stdout)
    assert view["version"] == "2018-08-31"
    assert view["conditions"] == {"in_a": True, "by_net": None}
    assert view["disabled"] == ["two"]
    assert view["resources"] == [["one", "OS::Heat::TestResource"]]
    assert {entry["name"]: entry["required"] for entry in view["parameters"]}["net"] is True


def test_all_problems_are_told_in_the_order_of_the_text_and_counted(terminal: Terminal, wrong: str) -> None:
    result = terminal.run("template", "validate", "-t", wrong)
    assert (result.exit_code, result.stdout) == (2, "")
    lines = [line for line in result.stderr.splitlines() if not line.startswith("  hint: ")]
    assert [line.split(":")[1] for line in lines[:-1]] == ["2", "4", "5"]
    assert lines[-1] == "3 problems"


def test_problems_are_objects_in_json(terminal: Terminal, wrong: str) -> None:
    result = terminal.run("template", "validate", "-t", wrong, "-f", "json")
    assert (result.exit_code, result.stdout) == (2, "")
    problems = json.loads(result.stderr)
    assert len(problems) == 3
    for problem in problems:
        assert set(problem) == {"error", "message", "path", "position", "hint"}
        assert set(problem["position"]) == {"file", "line", "column"}
    assert problems[0]["path"] == "parameters.size.type"
    assert problems[0]["hint"] == "did you mean 'number'?"


# -- show ------------------------------------------------------------------------------------------------------

NORMAL = """\
heat_template_version: '2018-08-31'
description: Two groups
parameter_groups:
- label: Network
  description: where it is
  parameters: [net, zone]
- parameters: [password]
parameters:
  password:
    type: string
    default: s3cret
    hidden: true
  zone:
    type: string
    default: a
    constraints:
    - allowed_values: [a, b]
    - length: {max: 3}
  net:
    type: string
    description: its name
  more:
    type: boolean
    default: true
conditions:
  in_a:
    equals:
    - {get_param: zone}
    - a
  by_net:
    equals:
    - {get_param: net}
    - big
resources:
  one:
    type: OS::Heat::TestResource
    properties:
      value:
        if: [by_net, 1, 2]
  two:
    type: OS::Heat::TestResource
    condition: {not: in_a}
    depends_on: [one]
    properties:
      value:
        if: [by_net, 1, 2]
    deletion_policy: Retain
outputs:
  said:
    value:
      get_attr: [one, output]
"""


def test_a_template_is_shown_in_its_normal_form(terminal: Terminal, grouped: str) -> None:
    result = terminal.run("template", "show", "-t", grouped)
    assert (result.exit_code, result.stdout) == (0, NORMAL)
    Path(grouped).write_text(NORMAL)
    assert terminal.run("template", "show", "-t", grouped).stdout == NORMAL
    as_json = json.loads(terminal.run("template", "show", "-t", grouped, "-f", "json").stdout)
    assert as_json == yaml.safe_load(NORMAL)


def test_what_is_shown_is_a_valid_template(terminal: Terminal, grouped: str) -> None:
    def validated_view() -> str:
        return terminal.run("template", "validate", "-t", grouped, "-f", "json").stdout

    before = json.loads(validated_view())
    Path(grouped).write_text(terminal.run("template", "show", "-t", grouped, "-f", "json").stdout)
    after = json.loads(validated_view())
    more = next(entry for entry in before["parameters"] if entry["name"] == "more")
    assert more["default"] == "on"
    more["default"] = True
    assert after == before


def test_showing_a_template_asks_for_no_files_and_no_types(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "heat_template_version: rocky\nresources: {r: {type: Un::Known, properties: {a: {get_file: nowhere}}}}\n"
    )
    result = terminal.run("template", "show", "-t", str(path))
    assert result.exit_code == 0, result.output
    assert "{get_file: nowhere}" in result.stdout


def test_conditions_are_decided_when_that_is_asked_for(
    terminal: Terminal, grouped: str, tmp_path: Path
) -> None:
    environment = tmp_path / "env.yaml"
    environment.write_text("parameters: {net: small}\n")
    result = terminal.run(
        *("template", "show", "-t", grouped, "--resolved", "-e", str(environment), "-P", "zone=a")
    )
    assert result.exit_code == 0, result.output
    shown = yaml.safe_load(result.stdout)
    assert "conditions" not in shown
    assert shown["resources"] == {"one": {"type": "OS::Heat::TestResource", "properties": {"value": 2}}}


def test_what_cannot_be_decided_is_bad_input(terminal: Terminal, grouped: str) -> None:
    result = terminal.run("template", "show", "-t", grouped, "--resolved")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "resources.one.properties.value: this depends on a parameter that has no value" in result.stderr
    assert "  hint: parameters without a value: net" in result.stderr


@pytest.mark.parametrize("words", [["-P", "net=x"], ["-e", "env.yaml"]])
def test_values_without_a_question_are_a_mistake(terminal: Terminal, grouped: str, words: list[str]) -> None:
    result = terminal.run("template", "show", "-t", grouped, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--resolved" in result.stderr


@pytest.mark.parametrize("words", [[], ["--resolved"]])
def test_every_mistake_in_a_template_is_told_instead_of_showing_it(
    terminal: Terminal, tmp_path: Path, words: list[str]
) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("heat_template_version: rocky\nparameters: {p: {type: x}}\nresources: {r: {}}\n")
    result = terminal.run("template", "show", "-t", str(path), *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1] == "2 problems"


def test_values_that_are_wrong_are_told(terminal: Terminal, grouped: str) -> None:
    result = terminal.run("template", "show", "-t", grouped, "--resolved", "-P", "zone=c", "-P", "nte=x")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "2 problems"


@pytest.mark.parametrize("words", [[], ["--resolved"]])
def test_what_is_no_template_is_told(terminal: Terminal, tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("- a list\n")
    missing = terminal.run("template", "show", "-t", str(tmp_path / "x.yaml"), *words)
    assert (missing.exit_code, "does not exist" in missing.stderr) == (2, True)
    result = terminal.run("template", "show", "-t", str(path), *words)
    assert (result.exit_code, "expected a template" in result.stderr) == (2, True)
