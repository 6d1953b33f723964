"""The doctor's findings in a pipe."""

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import isotherm
from orchestrator.doctor import report
from orchestrator.doctor.check import Check


def test_findings_fit_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Check(name="plugins", ok=False, detail="a sentence " * 30, hint="an advice " * 30)
    monkeypatch.setattr(report, "checks", lambda _: [long])
    lines = CliRunner().invoke(isotherm, ["doctor"]).stdout.splitlines()
    assert lines[0].startswith("CHECK")
    assert max(map(len, lines)) <= 120
