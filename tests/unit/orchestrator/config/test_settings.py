"""Settings that cannot be read are told by their place, and without what they hold."""

from pathlib import Path

import pytest

from orchestrator.config.settings import Settings, load_settings
from orchestrator.config.variables import unread_variables
from orchestrator.errors import InvalidInput


def problem_of(monkeypatch: pytest.MonkeyPatch, directory: Path, file: str = "", **variables: str) -> str:
    path = directory / "isotherm.toml"
    path.write_text(file)
    monkeypatch.setenv("ISOTHERM_CONFIG", str(path))
    for name, value in variables.items():
        monkeypatch.setenv(f"ISOTHERM_{name}", value)
    with pytest.raises(InvalidInput) as raised:
        load_settings()
    assert "SECRET" not in str(raised.value)
    return str(raised.value)


def test_a_file_that_is_no_toml_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "isotherm.toml is no TOML: " in problem_of(monkeypatch, tmp_path, "clients = [")


@pytest.mark.parametrize("name", ["CLIENTS", "NODE_DIRECTORIES"])
def test_a_variable_that_is_no_json_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    told = problem_of(monkeypatch, tmp_path, **{name: "{SECRET"})
    assert told.startswith(f"settings.{name.lower()}: it cannot be read")
    assert f"JSON in ISOTHERM_{name}" in told


def test_a_client_without_a_table_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = problem_of(monkeypatch, tmp_path, "[clients]\nhttp = 'SECRET'")
    assert told.startswith("settings.clients.http: ")


def test_the_options_of_clients_are_not_written_into_logs() -> None:
    assert "SECRET" not in repr(Settings(clients={"http": {"password": "SECRET"}}))


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (
            "[client.http]",
            "settings.client: there is no such setting (in {file}) (did you mean 'clients'?)",
        ),
        (
            "[constraint_cache]\nenabledd = true",
            "settings.constraint_cache.enabledd: there is no such setting (in {file}) (did you mean 'enabled'?)",
        ),
        (
            "[constraint_cache.clients.http]\nexpires = 'SECRET'",
            (
                "settings.constraint_cache.clients.http.expires: there is no such setting (in {file}) "
                "(there are arguments, backend, enabled, expiration_seconds, max_entries, url)"
            ),
        ),
        (
            "[constraint_cache]\nenabled = 'SECRET'",
            "settings.constraint_cache.enabled: expected true or false, found a text (in {file})",
        ),
        ("constraint_cache = 3", "settings.constraint_cache: expected a table, found a number (in {file})"),
        ("lease_seconds = -1", "settings.lease_seconds: expected more than 0, found -1 (in {file})"),
        ("encryption_keys = 'SECRET'", "settings.encryption_keys: expected a list, found a text (in {file})"),
    ],
)
def test_a_wrong_setting_is_told_with_what_was_expected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, told: str
) -> None:
    assert problem_of(monkeypatch, tmp_path, file) == told.format(file=tmp_path / "isotherm.toml")


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ISOTHERM_CONSTRAINT_CACHE__MAX_ENTRIES", "SECRET")
    assert problem_of(monkeypatch, tmp_path, CONSTRAINT_CACHE__CLIENTS='{"http": {"enabled": "SECRET"}}') == (
        "settings.constraint_cache.max_entries: expected a whole number, found a text "
        "(in ISOTHERM_CONSTRAINT_CACHE__MAX_ENTRIES)\n"
        "settings.constraint_cache.clients.http.enabled: expected true or false, found a text "
        "(in ISOTHERM_CONSTRAINT_CACHE__CLIENTS)"
    )


def test_a_file_that_was_named_must_be_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ISOTHERM_CONFIG", str(tmp_path / "other.toml"))
    with pytest.raises(InvalidInput, match=r"^ISOTHERM_CONFIG: there is no file '.*other.toml'$"):
        load_settings()


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("ISOTHERM_CACHE_BACKNED", "ISOTHERM_CACHE_BACKEND"),
        ("ISOTHERM_CONSTRAINT_CACHE_ENABLED", "ISOTHERM_CONSTRAINT_CACHE__ENABLED"),
        ("isotherm_broker_ulr", "ISOTHERM_BROKER_URL"),
        ("ISOTHERM_BROKER", "ISOTHERM_BROKER_URL"),
        ("ISOTHERM_STATE_DIR", "ISOTHERM_STATE_DIRECTORY"),
    ],
)
def test_a_variable_that_is_nearly_a_settings_one_is_found(variable: str, meant: str) -> None:
    assert list(unread_variables(Settings, {variable: "SECRET"})) == [(variable, meant)]


@pytest.mark.parametrize(
    "variable",
    [
        "ISOTHERM_CONFIG",
        "ISOTHERM_DEBUG",
        "ISOTHERM_API_TOKEN",
        "isotherm_cache_url",
        "ISOTHERM_CLIENTS__HTTP__BASE_URL",
        "ISOTHERM_CONSTRAINT_CACHE__CLIENTS__HTTP__ENABLED",
        "ISOTHERM_NODE_STATE_CACHE",
        "CACHE_BACKNED",
    ],
)
def test_other_variables_are_left_alone(variable: str) -> None:
    assert list(unread_variables(Settings, {variable: "x"})) == []
