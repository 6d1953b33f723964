"""The doctor says whether the dashboard could be started."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from orchestrator.dashboard import installed
from orchestrator.dashboard.installed import FLOWERS, require_flower
from orchestrator.doctor.dashboard import check_dashboard
from orchestrator.errors import InvalidInput

ROOT = Path(__file__).parents[4]


def test_the_versions_of_flower_are_those_of_the_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [needed] = [each for each in map(Requirement, extras["dashboard"]) if each.name == "flower"]
    assert needed.specifier == FLOWERS


def test_flower_that_is_there_is_told() -> None:
    [check] = check_dashboard({})
    assert check.ok
    assert "with Flower 2.2" in check.detail


def test_nothing_is_said_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.doctor.dashboard.flower_version", lambda: None)
    assert list(check_dashboard({})) == []


@pytest.mark.parametrize("found", [None, "2.3.0", "2.1"])
def test_a_dashboard_does_not_start_with_another_flower(
    found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed, "flower_version", lambda: found)
    with pytest.raises(InvalidInput, match=r"isotherm\[dashboard\]"):
        require_flower()


def test_a_slip_in_a_variable_is_told_without_its_value() -> None:
    [check] = check_dashboard({"FLOWER_BASIC_AUHT": "ann:hidden"})
    assert not check.ok
    assert check.detail == "FLOWER_BASIC_AUHT: there is no option of this name"
    assert check.hint == "did you mean FLOWER_BASIC_AUTH?"
