"""Every setting is documented, and the page says what the code does."""

import runpy
from pathlib import Path

import pytest

from orchestrator.settings import Settings

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "settings.md").read_text()


@pytest.mark.parametrize("name", Settings.model_fields)
def test_setting_is_documented_under_both_its_names(name: str) -> None:
    assert f"| `{name}` | `ISOTHERM_{name.upper()}` | " in PAGE


@pytest.mark.parametrize("name", Settings.model_fields)
def test_setting_says_what_it_means(name: str) -> None:
    description = Settings.model_fields[name].description or ""
    assert description.endswith(".")


def test_page_is_the_one_that_the_settings_make() -> None:
    made = runpy.run_path(str(DOCS / "make_settings.py"))["page"]()
    assert made == PAGE, "docs/settings.md is out of date: run python docs/make_settings.py"
