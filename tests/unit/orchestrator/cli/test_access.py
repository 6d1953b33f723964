"""Every command checks the role of the one who types it."""

import json
import socket
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from orchestrator.access.authenticators import local_user
from orchestrator.cli.access import COMMANDS, LOCAL, leaves
from orchestrator.cli.main import isotherm
from orchestrator.config.caller import caller
from orchestrator.model.identity import ENGINE_ITSELF, ROLES, Identity
from orchestrator.model.policy import OPERATIONS, Policy

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::None}}"


class Machine:
    """A state directory, and commands in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "web.yaml").write_text(TEMPLATE)

    def run(self, *words: str, code: int = 0, token: str = "", **variables: str) -> Any:
        """Run a command; return its result, or its errors."""
        environment = {**self.environment(), "ISOTHERM_TOKEN": token, **variables}
        result = CliRunner().invoke(isotherm, [*words, "-f", "json"], env=environment)
        assert result.exit_code == code, result.output
        return json.loads(result.stderr if code else result.stdout)

    def environment(self) -> dict[str, str]:
        """Return the variables of commands."""
        return {"ISOTHERM_STATE_DIRECTORY": str(self.directory / "state")}

    def token(self, user: str, role: str, *projects: str) -> str:
        """Return a new token."""
        options = [part for project in projects for part in ("--for-project", project)]
        text: str = self.run("token", "create", "--user", user, "--role", role, *options)["token"]
        return text


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_every_command_has_an_operation_that_exists() -> None:
    assert set(leaves(isotherm)) == set(COMMANDS)
    assert set(COMMANDS.values()) <= {*OPERATIONS, LOCAL}


@pytest.mark.parametrize("words", [words for words, operation in COMMANDS.items() if operation != LOCAL])
def test_command_runs_for_the_roles_of_the_policy_and_for_no_others(machine: Machine, words: str) -> None:
    command = leaves(isotherm)[words]
    operation = COMMANDS[words]
    required = [
        {"given": "stacks=1", "objects": "x=1"}.get(str(parameter.name))
        or ("1" if getattr(parameter.type, "name", "") == "integer" else "x")
        for parameter in command.params
        if parameter.required and parameter.param_type_name == "argument"
    ]
    options = [
        part
        for parameter in command.params
        if parameter.required and parameter.param_type_name == "option"
        for part in (parameter.opts[-1], "reader" if parameter.name == "role" else "x")
    ]
    for role in ROLES:
        for project in ("acme", "*"):
            if Policy().allows(Identity(user="ann", roles={project: role}), operation, "acme"):
                continue
            token = machine.token("ann", role, project)
            environment = {
                "ISOTHERM_STATE_DIRECTORY": str(machine.directory / "state"),
                "ISOTHERM_TOKEN": token,
                "ISOTHERM_PROJECT": "acme",
            }
            result = CliRunner().invoke(isotherm, [*words.split(), *required, *options], env=environment)
            assert result.exit_code == 2, result.output
            assert f"{operation} needs the role" in result.stderr
    assert not (machine.directory / "state" / "isotherm.db").exists()


def test_token_names_the_one_who_acts_and_its_roles(machine: Machine) -> None:
    reader, operator = (
        machine.token("rita", "reader", "default"),
        machine.token("olga", "operator", "default"),
    )
    template = str(machine.directory / "web.yaml")
    (refused,) = machine.run("stack", "create", "web", "-t", template, token=reader, code=2)
    assert refused["error"] == "NotAllowed"
    assert refused["message"] == (
        "stack.create needs the role operator in the project 'default'; rita has the role reader there"
    )
    machine.run("stack", "create", "web", "-t", template, token=operator)
    assert [each["name"] for each in machine.run("stack", "list", token=reader)] == ["web"]
    (elsewhere,) = machine.run("stack", "list", token=reader, code=2, ISOTHERM_PROJECT="beta")
    assert "rita has no role there" in elsewhere["message"]
    (unknown,) = machine.run("stack", "list", token="isotherm_x", code=2)
    assert "ISOTHERM_TOKEN is unknown" in unknown["message"]
    assert caller() == ENGINE_ITSELF


def test_resetting_counters_is_a_change(machine: Machine) -> None:
    (machine.directory / "policy.yaml").write_text("cache.read: reader\nnode.read: reader")
    policy: dict[str, Any] = {"ISOTHERM_POLICY_FILE": str(machine.directory / "policy.yaml")}
    token = machine.token("rita", "reader", "*")
    for noun in ("cache", "node"):
        machine.run(noun, "stats", token=token, **policy)
        (refused,) = machine.run(noun, "stats", "--reset", code=2, token=token, **policy)
        assert refused["message"].startswith(f"{noun}.change needs the role administrator")


def test_faulty_policy_is_refused_whoever_types(machine: Machine) -> None:
    (machine.directory / "policy.yaml").write_text("stack.lits: reader")
    (refused,) = machine.run(
        "stack", "list", code=2, ISOTHERM_POLICY_FILE=str(machine.directory / "policy.yaml")
    )
    assert refused["message"] == "'stack.lits' is no operation"


def test_tokens_are_listed_without_their_texts_and_revoked(machine: Machine) -> None:
    text = machine.token("rita", "reader", "default", "beta")
    (shown,) = machine.run("token", "list")
    assert (shown["user"], shown["roles"]) == ("rita", {"default": "reader", "beta": "reader"})
    assert set(shown) == {"id", "user", "roles", "created_at"}
    machine.run("token", "revoke", shown["id"])
    machine.run("stack", "list", token=text, code=2)
    machine.run("token", "revoke", shown["id"], code=2)


def test_history_and_events_show_who_did_what(machine: Machine) -> None:
    template = str(machine.directory / "web.yaml")
    olga, otto = (machine.token(user, "operator", "default") for user in ("olga", "otto"))
    machine.run("stack", "create", "web", "-t", template, token=olga)
    machine.run("stack", "resource", "mark-unhealthy", "web", "it", token=otto)
    machine.run("stack", "update", "web", "-t", template, "--comment", "ticket 4711", token=otto)
    machine.run("stack", "delete", "web", "--yes")
    history = machine.run("stack", "history", "web")
    assert {each["action"]: each["comment"] for each in history} == {
        "CREATE": "",
        "UPDATE": "ticket 4711",
        "DELETE": "",
    }
    assert [each["detail"] for each in machine.run("audit", "list") if each["detail"]] == ["ticket 4711"]
    refused = machine.run("stack", "delete", "web", "--yes", "--comment", "x" * 501, code=2)
    assert "at most 500 printable characters" in str(refused)
    shown = {each["action"]: each["user"] for each in history}
    assert shown == {"CREATE": "olga", "UPDATE": "otto", "DELETE": local_user()}
    assert machine.run("stack", "history", "web", "--traversal", history[-1]["id"])["user"] == "olga"
    events = machine.run("stack", "event", "list", "web")
    assert [(each["action"], each["resource"], each["user"]) for each in events if each["user"]] == [
        ("CREATE", "", "olga"),
        ("CHECK", "it", "otto"),
        ("UPDATE", "", "otto"),
        ("DELETE", "", local_user()),
    ]


def test_what_changes_no_definition_is_recorded_with_its_comment_too(machine: Machine) -> None:
    template = machine.directory / "wait.yaml"
    template.write_text(
        "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::WaitConditionHandle}}"
    )
    machine.run("stack", "create", "web", "-t", str(template))
    machine.run("stack", "snapshot", "create", "web", "--name", "before")
    signal = ["stack", "resource", "signal", "web", "it", "--comment", "by hand"]
    result = CliRunner().invoke(isotherm, signal, env=machine.environment())
    assert result.exit_code == 0, result.output
    machine.run("stack", "hook", "clear", "web", "--comment", "go on")
    machine.run("stack", "snapshot", "delete", "web", "before", "--comment", "too old")
    details = {each["action"]: each["detail"] for each in machine.run("audit", "list")}
    assert details["stack.signal"] == "by hand"
    assert details["stack.clear_hook"] == "go on"
    assert details["stack.delete_snapshot"] == "too old"


def test_audit_log_has_jobs_refusals_and_administration(machine: Machine) -> None:
    template = str(machine.directory / "web.yaml")
    machine.run("token", "create", "--user", "first", "--role", "reader", "--for-project", "default")
    machine.run("db", "upgrade")
    olga, rita = machine.token("olga", "operator", "default"), machine.token("rita", "reader", "default")
    machine.run("stack", "create", "web", "-t", template, token=olga)
    machine.run("stack", "list", token=rita)
    machine.run("stack", "delete", "web", token=rita, code=2)
    machine.run("key", "list", token=rita, code=2)
    machine.run("stack", "resource", "mark-unhealthy", "web", "it", token=olga)
    machine.run("cache", "flush")
    records = machine.run("audit", "list")[::-1]
    shown = [(each["user"], each["project"], each["action"], each["outcome"]) for each in records]
    me = local_user()
    assert shown == [
        (me, "", "database.upgrade", "allowed"),
        (me, "", "token.change", "allowed"),
        (me, "", "token.change", "allowed"),
        ("olga", "default", "stack.create", "allowed"),
        ("rita", "default", "stack.delete", "refused"),
        ("rita", "", "key.read", "refused"),
        ("olga", "default", "stack.mark_unhealthy", "allowed"),
        (me, "", "cache.change", "allowed"),
    ]
    assert "user='olga'" in records[1]["target"]
    assert olga not in json.dumps(records)
    assert {each["origin"] for each in records} == {f"command line, {me}@{socket.gethostname()}"}
    found = machine.run("audit", "verify", "--expect", records[2]["hash"])
    assert (found["records"], found["last_hash"], found["state"]) == (8, records[-1]["hash"], "ok")


def test_verification_names_the_first_record_that_does_not_fit_and_ends_with_1(machine: Machine) -> None:
    machine.run("db", "upgrade")
    for _ in range(3):
        machine.run("cache", "flush")
    with sqlite3.connect(machine.directory / "state" / "isotherm.db") as database:
        database.execute("DROP TRIGGER audit_record_stays_update")
        database.execute("UPDATE audit_record SET user_name = 'someone' WHERE seq = 2")
    environment = {"ISOTHERM_STATE_DIRECTORY": str(machine.directory / "state")}
    result = CliRunner().invoke(isotherm, ["audit", "verify", "-f", "json"], env=environment)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["broken_at"] == 2


def test_command_runs_though_it_cannot_be_recorded_and_says_so(machine: Machine) -> None:
    url = f"sqlite:///{machine.directory}/none/there.db"
    environment = {
        "ISOTHERM_KEY_FILE": str(machine.directory / "keys.json"),
        "ISOTHERM_STATE_DIRECTORY": str(machine.directory / "state"),
        "ISOTHERM_DATABASE_URL": url,
    }
    result = CliRunner().invoke(isotherm, ["key", "create"], env=environment)
    assert result.exit_code == 0
    assert "key.change is not in the audit log" in result.stderr
