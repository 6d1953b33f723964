"""`isotherm project` on the real service: limits are set, shown, enforced by the next command, and unset."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm

TEMPLATE = (
    "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}, b: {type: OS::Heat::None}}\n"
)


def run(*words: str) -> Result:
    return CliRunner().invoke(isotherm, list(words), prog_name="isotherm")


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template in a directory with a state directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "t.yaml").write_text(TEMPLATE)


def test_limits_hold_from_the_next_command_on() -> None:
    set_ = run("project", "limits", "set", "default", "resources=3", "evaluation_seconds=2.5", "-f", "json")
    assert json.loads(set_.stdout) == [
        {"project": "default", "limit": "evaluation_seconds", "most": 2.5},
        {"project": "default", "limit": "resources", "most": 3.0},
    ]
    assert run("stack", "create", "s", "-t", "t.yaml").exit_code == 0
    sentence = "limit 'resources': project 'default' may have 3 resources in all stacks, nested ones included; it has 2"
    for words in (("stack", "create", "more", "-t", "t.yaml"), ("stack", "preview", "more", "-t", "t.yaml")):
        refused = run(*words)
        assert refused.exit_code == 2
        assert sentence in " ".join(refused.stderr.split())
    Path("t.yaml").write_text(
        TEMPLATE.replace("b:", "c: {type: OS::Heat::None}, d: {type: OS::Heat::None}, e:")
    )
    for more in ((), ("--dry-run",)):
        refused = run("stack", "update", "s", "-t", "t.yaml", *more)
        assert refused.exit_code == 2
        assert sentence in " ".join(refused.stderr.split())
    used = {each["limit"]: each for each in json.loads(run("project", "usage", "-f", "json").stdout)}
    assert (used["stacks"]["used"], used["stacks"]["most"]) == (1, None)
    assert (used["resources"]["used"], used["resources"]["most"]) == (2, 3.0)
    assert (used["streams"]["used"], used["jobs"]["most"]) == (None, 10_000)
    assert run("project", "limits", "unset", "default", "resources").exit_code == 0
    assert run("stack", "update", "s", "-t", "t.yaml").exit_code == 0


def test_tables_have_a_row_for_each_limit() -> None:
    assert run("project", "limits", "set", "acme", "stacks=20", "jobs=unlimited").exit_code == 0
    rows = [line.split() for line in run("project", "limits", "list").stdout.splitlines()]
    assert rows[1:] == [["acme", "jobs", "unlimited"], ["acme", "stacks", "20"]]
    usage = [line.split()[:3] for line in run("project", "usage", "acme").stdout.splitlines()]
    assert ["stacks", "0", "20"] in usage


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("set", "p", "stack=1"), "stack: there is no such limit hint: limits: stacks, resources, jobs"),
        (("set", "p", "stacks=many"), "stacks: expected a number from 0 on, or 'unlimited', got 'many'"),
        (("set", "p", "stacks=1.5"), "got '1.5'"),
        (("set", "p", "stacks=-1"), "got '-1'"),
        (("set", " ", "stacks=1"), "project"),
        (("unset", "p", "stacks"), "project 'p' has no limit 'stacks' of its own"),
    ],
)
def test_mistakes_change_nothing(words: tuple[str, ...], sentence: str) -> None:
    refused = run("project", "limits", *words)
    assert refused.exit_code == 2
    assert sentence in " ".join(refused.stderr.split())
    assert json.loads(run("project", "limits", "list", "-f", "json").stdout) == []
