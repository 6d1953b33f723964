"""The doctor's findings in a pipe."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import isotherm


def test_findings_fit_a_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Each setting is unknown: one long sentence.
    for number in range(20):
        monkeypatch.setenv(f"ISOTHERM_SETTING_{number}", "x")
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", "relative")
    monkeypatch.chdir(tmp_path)
    lines = CliRunner().invoke(isotherm, ["doctor"]).stdout.splitlines()
    assert lines[0].startswith("CHECK")
    assert max(map(len, lines)) <= 120
