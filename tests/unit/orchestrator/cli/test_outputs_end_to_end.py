"""Outputs between stacks by the command line on the real service: two projects, a chain of stacks, a failure."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.orchestrator.cli.commands import run

HEAD = "heat_template_version: 2021-04-16\n"
SOURCE = (
    HEAD + "parameters: {value: {type: string}}\n"
    "resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: value}}}}\n"
    "outputs: {it: {value: {get_attr: [v, value]}}, fixed: {value: 1}}\n"
)
READER = (
    HEAD + "parameters: {stack: {type: string}, project: {type: string, default: default}}\n"
    "resources:\n"
    "  r:\n"
    "    type: Isotherm::Stack::Output\n"
    "    properties: {stack: {get_param: stack}, output: it, project: {get_param: project}}\n"
    "  v:\n"
    "    type: OS::Heat::TestResource\n"
    "    properties:\n"
    "      value: {get_attr: [r, value]}\n"
    "outputs: {it: {value: {get_attr: [r, value]}}}\n"
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL", "ISOTHERM_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "source.yaml").write_text(SOURCE)
    (tmp_path / "reader.yaml").write_text(READER)


def good(*words: str) -> Any:
    """Return what a command that succeeds writes as JSON."""
    done = run(*words, "-f", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def output(stack: str) -> Any:
    return good("stack", "output", "show", stack, "it")["value"]


def test_readers_are_shown_warned_of_and_updated_in_order() -> None:
    good("stack", "create", "a", "-t", "source.yaml", "-P", "value=one")
    for name, source in (("b", "a"), ("c", "b"), ("d", "a")):
        good("stack", "create", name, "-t", "reader.yaml", "-P", f"stack={source}")
    assert [output(name) for name in "bcd"] == ["one"] * 3
    found = good("stack", "dependencies", "b")
    assert [(each["source"], each["output"], each["stale"]) for each in found["reads"]] == [
        ("a", "it", False)
    ]
    assert [each["stack"] for each in found["read_by"]] == ["c"]

    refused = run("stack", "delete", "a", "--yes")
    assert (refused.exit_code, "stack 'b' (output 'it', resource 'r')" in refused.stderr) == (2, True)
    planned = good("stack", "update", "a", "--existing", "-P", "value=two", "--dry-run")
    (warning,) = planned["warnings"]
    assert "read by stack 'b' (output 'it', resource 'r'), stack 'd'" in warning["message"]

    good("stack", "update", "a", "--existing", "-P", "value=two")
    assert {each["name"]: each["stale"] for each in good("stack", "list")} == {
        "a": False,
        "b": True,
        "c": False,
        "d": True,
    }
    assert "stale in" in run("stack", "show", "a").stdout
    (group,) = [each for each in good("attention")["groups"] if each["kind"] == "stale"]
    assert [each["subject"] for each in group["findings"]] == ["b", "d"]

    def dependents(*words: str) -> list[tuple[object, ...]]:
        listed = good("stack", "update-dependents", "a", *words)["dependents"]
        return [(each["layer"], each["name"], each["after"], each["state"]) for each in listed]

    order = [(0, "b", ["a"]), (0, "d", ["a"]), (1, "c", ["b"])]
    states = ["stale", "stale", ""]
    assert dependents("--dry-run") == [(*each, state) for each, state in zip(order, states, strict=True)]
    assert dependents() == [(*each, "UPDATE_COMPLETE") for each in order]
    assert [output(name) for name in "bcd"] == ["two"] * 3
    assert dependents() == [(*each, "up to date") for each in order]


def test_what_depends_on_a_failed_update_is_skipped() -> None:
    good("stack", "create", "a", "-t", "source.yaml", "-P", "value=one")
    for name, source in (("b", "a"), ("c", "b")):
        good("stack", "create", name, "-t", "reader.yaml", "-P", f"stack={source}")
    text = SOURCE.replace("  it:", "  other:").replace("{it:", "{other:")
    Path("source.yaml").write_text(text)
    good("stack", "update", "a", "-t", "source.yaml", "-P", "value=one")
    done = run("stack", "update-dependents", "a", "-f", "json")
    assert done.exit_code == 1
    listed = json.loads(done.stdout)["dependents"]
    assert [(each["name"], each["state"]) for each in listed] == [("b", "UPDATE_FAILED"), ("c", "skipped")]


def test_another_project_reads_what_is_shared_and_is_only_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    good("stack", "create", "a", "-t", "source.yaml", "-P", "value=one")

    def theirs(*words: str) -> Any:
        monkeypatch.setenv("ISOTHERM_PROJECT", "shop")
        try:
            return run(*words)
        finally:
            monkeypatch.delenv("ISOTHERM_PROJECT")

    create = ("stack", "create", "secret-plan", "-t", "reader.yaml", "-P", "stack=a")
    assert "shares no output 'it' of a stack 'a' with project 'shop'" in theirs(*create).output
    assert run("stack", "output", "share", "a", "itt", "--with", "shop").exit_code == 2
    shared = good("stack", "output", "share", "a", "it", "--with", "shop")
    assert [(each["output"], each["project"]) for each in shared["shares"]] == [("it", "shop")]
    assert theirs("stack", "update", "secret-plan", "--existing").exit_code == 0
    assert good("stack", "dependencies", "a")["other_readers"] == 1
    assert good("stack", "dependencies", "a")["read_by"] == []
    for words in (["delete", "a", "--yes"], ["dependencies", "a"], ["update-dependents", "a"]):
        told = run("stack", *words).output
        assert ("1 stack" in told, "secret-plan" in told) == (True, False)
    assert good("stack", "output", "unshare", "a", "it", "--with", "shop")["shares"] == []
    good("stack", "delete", "a", "--yes", "--force")
    recorded = {each["action"] for each in good("audit", "list", "--limit", "50")}
    assert {"stack.share", "stack.unshare"} <= recorded
