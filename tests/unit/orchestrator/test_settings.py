"""Settings that cannot be read are told by their place, and without what they hold."""

from pathlib import Path

import pytest

from orchestrator.errors import InvalidInput
from orchestrator.settings import Settings, load_settings


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


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("lease_second = 'SECRET'", "lease_second: there is no such setting (did you mean 'lease_seconds'?)"),
        (
            "[constraint_cache]\nmax_entry = 'SECRET'",
            "constraint_cache.max_entry: there is no such setting (did you mean 'max_entries'?)",
        ),
        (
            "[constraint_cache.clients.nova]\nbackends = 'SECRET'",
            "constraint_cache.clients.nova.backends: there is no such setting (did you mean 'backend'?)",
        ),
        ("colour = 'SECRET'", "colour: there is no such setting"),
    ],
    ids=["setting", "in a table", "in a client's table", "nothing near"],
)
def test_a_setting_that_there_is_not_is_told_with_the_nearest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, told: str
) -> None:
    assert problem_of(monkeypatch, tmp_path, file) == f"settings.{told}"


def test_the_options_of_clients_are_not_written_into_logs() -> None:
    assert "SECRET" not in repr(Settings(clients={"http": {"password": "SECRET"}}))
