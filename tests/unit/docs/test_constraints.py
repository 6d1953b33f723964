"""The page of the custom constraints names every one that ships, and its examples are right."""

import pytest

from orchestrator.plugins.custom import CustomConstraint
from tests.unit.docs.test_pages import DOCS, section, table
from tests.unit.orchestrator.plugins.test_custom import declared

PAGE = (DOCS / "constraints.md").read_text()
ROWS = {row[0]: row for row in table(section(PAGE, "Constraints on the value alone"))}
ASKING = {row[0]: row for row in table(section(PAGE, "Constraints on other systems"))}


def asking() -> dict[str, CustomConstraint]:
    kinds = {entry.name: entry.load() for entry in declared()}
    return {name: kind() for name, kind in kinds.items() if kind.asks_outside}


def pure() -> dict[str, CustomConstraint]:
    kinds = {entry.name: entry.load() for entry in declared()}
    return {name: kind() for name, kind in kinds.items() if not kind.asks_outside}


def test_the_page_names_every_constraint_that_asks_nobody() -> None:
    assert list(ROWS) == sorted(pure())


def test_the_page_names_every_constraint_that_asks_another_system_and_whom() -> None:
    asking = {entry.name: entry.load() for entry in declared()}
    rows = {row[0]: row[1] for row in table(section(PAGE, "Constraints on other systems"))}
    assert list(rows) == sorted(rows)
    assert rows == {name: kind.client for name, kind in asking.items() if kind.asks_outside}


@pytest.mark.parametrize("name", ROWS)
def test_the_example_satisfies_its_constraint_and_the_empty_text_as_it_is_said(name: str) -> None:
    _, demand, example, empty = ROWS[name]
    constraint = pure()[name]
    assert demand
    assert constraint.fault(example) is None
    assert {"passes": None, "fails": True}[empty] == (constraint.fault("") and True)


def test_the_page_names_every_constraint_that_asks_and_whom() -> None:
    assert {name: row[1] for name, row in ASKING.items()} == {
        name: getattr(constraint, "client", None) for name, constraint in asking().items()
    }
    assert list(ASKING) == sorted(ASKING)


@pytest.mark.parametrize("name", ASKING)
def test_what_is_said_of_empty_text_is_so(name: str) -> None:
    assert ("empty text stands for none" in ASKING[name][2]) == (asking()[name].fault("") is None)
