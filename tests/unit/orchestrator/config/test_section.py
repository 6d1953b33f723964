"""Sections of settings: values of variables and files become the declared types, or are refused with their place."""

import copy
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.nodes import AgentSettings, NodeStateCacheSettings
from orchestrator.config.secret import Secret
from orchestrator.config.setting import Fault
from orchestrator.config.settings import Settings
from orchestrator.config.variables import values_of
from orchestrator.errors import InvalidInput


def problem(**given: Any) -> str:
    with pytest.raises(InvalidInput) as raised:
        Settings(**given)
    return str(raised.value)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("tracing", "Yes", True),
        ("tracing", "0", False),
        ("tracing", 1, True),
        ("batch_size", "1_0", 10),
        ("batch_size", "3.0", 3),
        ("batch_size", 3.0, 3),
        ("max_message_bytes", 2**60 + 1, 2**60 + 1),
        ("lease_seconds", " 5 ", 5.0),
        ("lease_seconds", 5, 5.0),
        ("key_file", "/etc/keys", Path("/etc/keys")),
        ("key_file", None, None),
        ("node_directories", ["/a", "/b"], (Path("/a"), Path("/b"))),
        ("encryption_keys", ["k"], (Secret("k"),)),
        ("token", "t", Secret("t")),
        ("agent", {"commands": ["/bin/x"]}, AgentSettings(commands=("/bin/x",))),
        ("agent", AgentSettings(threads=3), AgentSettings(threads=3)),
        ("clients", {"http": {"headers": [1, {"a": None}]}}, {"http": {"headers": [1, {"a": None}]}}),
    ],
)
def test_a_value_becomes_the_declared_type(name: str, given: Any, value: Any) -> None:
    found = getattr(Settings(**{name: given}), name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("tracing", "", "expected true or false, found a text"),
        ("tracing", 2, "expected true or false, found a number"),
        ("batch_size", "3.5", "expected a whole number, found a text"),
        ("batch_size", float("inf"), "expected a whole number, found a number"),
        ("batch_size", 2000, "expected at most 1000, found 2000"),
        ("embedded_threads", 0, "expected at least 1, found 0"),
        ("lease_seconds", "nan", "expected more than 0, found nan"),
        ("lease_seconds", None, "expected a number, found something else"),
        ("project", 3, "expected a text, found a number"),
        ("key_file", 3, "expected a path, found a number"),
        ("token", 3, "expected a text, found a number"),
        ("hidden_stack_tags", "a", "expected a list, found a text"),
        ("clients", ["a"], "expected a table, found a list"),
        ("lifecycle_effects", {"default": "x"}, "expected 'refuse' or 'fail', found a text"),
        ("broker_url", "carrier-pigeon", "expected a URL that begins with a scheme"),
        ("outgoing_targets", ["+"], "'+' is no target"),
    ],
)
def test_a_value_of_another_type_or_out_of_bounds_is_refused(name: str, given: Any, told: str) -> None:
    assert f"settings.{name}" in problem(**{name: given})
    assert told in problem(**{name: given})


def test_an_item_and_a_part_of_a_section_are_named_by_their_places() -> None:
    wrong = {"projects": {"shop": {"directories": ["/a", 3]}}}
    assert problem(agent=wrong).startswith("settings.agent.projects.shop.directories.1: expected a path")
    assert problem(node_state_cache={"ttl": 3}).startswith(
        "settings.node_state_cache.ttl: there is no such setting"
    )


def test_all_faults_are_reported_at_once() -> None:
    assert len(problem(lease_seconds="x", batch_size="y", agent={"threads": 0}).splitlines()) == 3


def given_by(**variables: str) -> dict[str, Any]:
    faults: list[Fault] = []
    found = values_of(Settings, {f"ISOTHERM_{name}": value for name, value in variables.items()}, faults)
    assert not faults
    return found


@pytest.mark.parametrize(
    ("variables", "given"),
    [
        ({"BROKER_URL": "redis://a"}, {"broker_url": "redis://a"}),
        ({"BROKER_URL__X": "a"}, {}),
        ({"OTHER": "a"}, {}),
        ({"OUTGOING_TARGETS": '["*"]'}, {"outgoing_targets": ["*"]}),
        ({"CLIENTS__HTTP__BASE_URL": "x"}, {"clients": {"http": {"base_url": "x"}}}),
        ({"CLIENTS__HTTP__NUMBER": "1"}, {"clients": {"http": {"number": "1"}}}),
        ({"CLIENTS__HTTP": '{"a": 1}', "CLIENTS__HTTP__B": "2"}, {"clients": {"http": {"a": 1, "b": "2"}}}),
        ({"CLIENTS__HTTP__A": "2", "CLIENTS": '{"http": {"a": 1}}'}, {"clients": {"http": {"a": "2"}}}),
        ({"AGENT__PROJECTS__SHOP__USERS": '["me"]'}, {"agent": {"projects": {"shop": {"users": ["me"]}}}}),
        ({"CONSTRAINT_CACHE__FOO": "1"}, {"constraint_cache": {"foo": "1"}}),
    ],
)
def test_variables_give_settings_and_their_parts(variables: dict[str, str], given: dict[str, Any]) -> None:
    assert given_by(**variables) == given


def test_arguments_win_over_variables_and_these_over_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "isotherm.toml"
    file.write_text("project = 'file'\nlease_seconds = 1\n[clients.http]\na = 'file'\nb = 'file'\n")
    monkeypatch.setenv("ISOTHERM_CONFIG", str(file))
    monkeypatch.setenv("isotherm_lease_seconds", "2")
    monkeypatch.setenv("ISOTHERM_CLIENTS__HTTP__B", "variable")
    found = Settings(batch_size=3)
    assert (found.project, found.lease_seconds, found.batch_size) == ("file", 2.0, 3)
    assert found.clients == {"http": {"a": "file", "b": "variable"}}
    assert found.given >= {"project", "lease_seconds", "batch_size", "clients"}
    assert "token" not in found.given
    assert Settings(lease_seconds=3.0).lease_seconds == 3.0


def test_settings_do_not_change_and_a_copy_does_not_change_them() -> None:
    settings = Settings(project="a")
    with pytest.raises(AttributeError, match="cannot assign to 'project'"):
        settings.project = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot delete 'project'"):
        del settings.project
    assert (settings.with_values(project="b").project, settings.project) == ("b", "a")
    settings.agent.hypervisors["qemu"] = {}
    assert "qemu" not in Settings().agent.hypervisors


def test_settings_are_copied() -> None:
    settings = Settings(project="a", encryption_keys=(Secret("k"),))
    assert copy.deepcopy(settings) == settings


def test_secrets_are_not_shown() -> None:
    shown = repr(
        Settings(token=Secret("SECRET"), node_state_cache=NodeStateCacheSettings(url="redis://:SECRET@a"))
    )
    assert "SECRET" not in shown
    assert "SECRET" not in str(Secret("SECRET"))
    assert Secret("SECRET").get_secret_value() == "SECRET"
