"""Every setting is documented, and the page says what the code does."""

import runpy
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.config.variables import variable_of

DOCS = Path(__file__).parents[4] / "docs"
PAGE = (DOCS / "settings.md").read_text()
MAKER = runpy.run_path(str(DOCS / "make_settings.py"))
LEAVES = {".".join(path): (path, field) for path, field in MAKER["leaves"](Settings)}


@pytest.mark.parametrize("name", LEAVES)
def test_setting_is_documented_under_both_its_names(name: str) -> None:
    path, _ = LEAVES[name]
    assert f"| `{name}` | `{variable_of(path)}` | " in PAGE


@pytest.mark.parametrize("name", LEAVES)
def test_setting_says_what_it_means(name: str) -> None:
    _, field = LEAVES[name]
    assert (field.description).endswith(".")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("node_directories", "ISOTHERM_NODE_DIRECTORIES"),
        ("constraint_cache.lock_seconds", "ISOTHERM_CONSTRAINT_CACHE__LOCK_SECONDS"),
        ("constraint_cache.clients.NAME.url", "ISOTHERM_CONSTRAINT_CACHE__CLIENTS__NAME__URL"),
    ],
)
def test_settings_below_others_are_documented_by_their_paths(name: str, variable: str) -> None:
    assert f"| `{name}` | `{variable}` | " in PAGE


def test_no_setting_is_left_out() -> None:
    assert {path[0] for path, _ in LEAVES.values()} == set(Settings.declared)


def test_page_is_the_one_that_the_settings_make() -> None:
    assert MAKER["page"]() == PAGE, "docs/settings.md is out of date: run python docs/make_settings.py"
