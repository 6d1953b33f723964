"""``isotherm dashboard``, and the same by Celery's command: what cannot be is refused before anything is begun."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from celery.bin.celery import celery
from click import Command
from click.testing import CliRunner

from orchestrator.cli.main import isotherm
from orchestrator.queue.celery_app import default_app
from tests.unit.orchestrator.dashboard.serving import fresh_options

BY_ISOTHERM = (isotherm, ("dashboard",))
BY_CELERY = (celery, ("-A", "orchestrator.queue:app", "dashboard"))

each_way = pytest.mark.parametrize(
    ("command", "words"), [BY_ISOTHERM, BY_CELERY], ids=["isotherm dashboard", "celery dashboard"]
)


@pytest.fixture(autouse=True)
def new_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of what was set up before or is set up here is found by anybody else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path))
    monkeypatch.delenv("ISOTHERM_BROKER_URL", raising=False)
    default_app.cache_clear()
    with fresh_options():
        yield
    default_app.cache_clear()


@each_way
def test_a_mistyped_option_is_told_with_the_nearest(command: Command, words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(command, [*words, "--prot=8080"], prog_name="program")
    assert result.exit_code == 2, result.output
    assert "--prot: there is no such option" in result.output
    assert "did you mean --port?" in result.output
    assert "Traceback" not in result.output


@each_way
def test_actions_without_authentication_do_not_start(command: Command, words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(command, [*words, "--stack_actions=true"], prog_name="program")
    assert result.exit_code == 2, result.output
    assert "--stack_actions: there is no authentication" in result.output
    assert "Traceback" not in result.output


def test_a_wrong_setting_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_LEASE_SECONDS", "soon")
    result = CliRunner().invoke(isotherm, ["dashboard"], prog_name="program")
    assert result.exit_code == 2, result.output
    assert "lease_seconds" in result.output
    assert "Traceback" not in result.output


def test_help_tells_how_options_are_written() -> None:
    result = CliRunner().invoke(isotherm, ["dashboard", "--help"])
    assert result.exit_code == 0
    for word in ("--name=value", "--stack_actions", "--stack_operators", "--basic_auth"):
        assert word in result.output
