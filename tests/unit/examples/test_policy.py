"""The example ``examples/policy`` does what its page says."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.builtin.policy.rule_reader import read_rules
from hooks.builtin.policy.rules import judge
from hooks.lifecycle import LifecycleContext
from orchestrator.cli.main import isotherm
from tests.unit.docs.pages import ROOT
from tests.unit.hooks.builtin.policy.stacks import stack_of

DIRECTORY = ROOT / "examples" / "policy"
TEMPLATE = ("-t", str(DIRECTORY / "service.yaml"))
CONTEXT = LifecycleContext(operation_id="1", project="default")
TAGS = ("--tags", "owner-ada")


@pytest.fixture(autouse=True)
def its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in the directory that the page begins in, with its settings and a state of one's own."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("ISOTHERM_CONFIG", "examples/policy/settings.toml")
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


def run(*words: str) -> Result:
    return CliRunner().invoke(isotherm, list(words), prog_name="isotherm")


def well(*words: str) -> str:
    done = run(*words)
    assert done.exit_code == 0, done.output
    return done.stdout


def refusal(*words: str) -> str:
    done = run(*words)
    assert done.exit_code == 2, done.output
    return done.stderr


def test_a_stack_that_keeps_the_rules_comes_and_goes_and_one_that_does_not_never_begins() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    create = ("stack", "create", "service", *TEMPLATE, "-P", f"port={port}")
    assert "rule 'owned': it has no tag 'owner-*' - Say who" in refusal(*create)
    assert "rule 'on-this-machine-alone'" in refusal(*create, *TAGS, "-P", "address=0.0.0.0")
    said = refusal(*create, "-P", "password_length=8", "-P", "mode=0644")
    assert [rule in said for rule in ("'owned'", "'private-files'", "'long-passwords'")] == [True] * 3
    preview = ("stack", "preview", "service", *TEMPLATE)
    assert refusal(*preview, "-P", "password_length=8", "-P", "mode=0644") == said
    assert "NAME" in well(*preview, *TAGS)
    assert well("stack", "list", "-f", "json").strip() == "[]"

    assert f"http://127.0.0.1:{port}/" in well(*create, *TAGS)
    update = ("stack", "update", "service", *TEMPLATE, "-P", f"port={port}")
    assert "rule 'private-files'" in refusal(*update, "-P", "mode=0644", "--dry-run")
    well(*update, "--tags", "owner-ada,keep")
    assert "rule 'not-deleted-by-mistake'" in refusal("stack", "delete", "service", "-y")
    well(*update, *TAGS)
    well("stack", "delete", "service", "-y")


@pytest.mark.parametrize(
    ("resource", "broken"),
    [
        ("x: {type: OS::Nova::Server}", "known-types"),
        ("x: {type: Isotherm::Node::File, properties: {path: a}}", "private-files"),
        ("x: {type: Isotherm::Node::File, properties: {path: a, mode: '0644'}}", "private-files"),
        ("x: {type: Isotherm::Node::File, properties: {path: a, mode: '0640'}}", None),
        ("x: {type: Isotherm::Node::Process, properties: {command: [/bin/sh, -c, ls]}}", "no-shells"),
        ("x: {type: Isotherm::Node::Process, properties: {command: bash run}}", "no-shells"),
        ("x: {type: Isotherm::Node::Process, properties: {command: [push, x]}}", None),
        ("x: {type: Isotherm::Node::Process, properties: {command: [a, --bind=0.0.0.0]}}", "on-this-machine-alone"),
        ("x: {type: Isotherm::Node::Process, properties: {command: 'a --bind ::'}}", "on-this-machine-alone"),
        ("x: {type: OS::Heat::RandomString, properties: {length: 19}}", "long-passwords"),
        ("x: {type: OS::Heat::RandomString}", None),
    ],
)  # fmt: skip
def test_each_rule_refuses_what_it_is_about(resource: str, broken: str | None) -> None:
    rules = read_rules((DIRECTORY / "rules.yaml").read_text(), "rules.yaml")
    judgement = judge(
        [rule for rule in rules if rule.concerns(CONTEXT, "CREATE")],
        stack_of(resource, tags=("owner-ada",)),
    )
    assert [refusal.split("rule ")[1].split(":")[0] for refusal in judgement.refusals] == (
        [f"'{broken}'"] if broken else []
    )


def test_what_may_be_any_address_is_warned_of() -> None:
    rules = read_rules((DIRECTORY / "rules.yaml").read_text(), "rules.yaml")
    stack = stack_of(
        "x: {type: Isotherm::Node::Process, properties: {command: [a, {get_attr: [y, value]}]}}", tags=()
    )
    (warning, *_) = judge([rule for rule in rules if rule.name == "on-this-machine-alone"], stack).warnings
    assert "may break rule 'on-this-machine-alone'" in warning
