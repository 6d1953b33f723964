"""The tree of errors is that of their module, and what they tell is no more than people read."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import orchestrator
from hooks.values.words import fault_of
from orchestrator import errors
from orchestrator.cli.errors import exit_code
from orchestrator.errors import (
    MOST_PROBLEMS,
    InvalidInput,
    IsothermError,
    NotFound,
    Problem,
    cut,
    message_of,
    typed_message,
)

#: The exit code by name.
ENTRIES = dict(re.findall(r"[├└]── (\w+).*?\(exit (\d)\)", errors.__doc__ or "", re.DOTALL))


def kinds() -> list[type[IsothermError]]:
    """Return every class of error that the package raises on purpose."""
    for module in pkgutil.walk_packages(orchestrator.__path__, "orchestrator."):
        if ".migrations." not in module.name:
            importlib.import_module(module.name)
    found, unseen = [], [IsothermError]
    while unseen:
        below = [
            kind for kind in unseen.pop().__subclasses__() if kind.__module__.startswith("orchestrator.")
        ]
        found += below
        unseen += below
    return found


def test_every_error_is_in_the_tree_and_nothing_else() -> None:
    assert {kind.__name__ for kind in kinds()} == ENTRIES.keys()


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: str(kind.__name__))
def test_an_error_ends_a_command_as_the_tree_says(kind: type[IsothermError]) -> None:
    assert exit_code(kind.__new__(kind)) == int(ENTRIES[kind.__name__])


def test_a_problem_quotes_no_more_than_people_read() -> None:
    problem = Problem(message="m" * 100_000, path="p" * 100_000, hint="h" * 100_000)
    assert (len(problem.message), len(problem.path), len(problem.hint)) == (2_000, 2_000, 2_000)
    assert problem.message.endswith("...")
    assert Problem.from_wire(problem.to_wire()) == problem
    assert (cut("abcdef", 6), cut("abcdefg", 6)) == ("abcdef", "abc...")


def test_of_very_many_problems_the_first_are_kept_and_their_number_is_told() -> None:
    problems = [Problem(message=str(number)) for number in range(MOST_PROBLEMS + 1)]
    assert InvalidInput(problems[:-1]).problems == tuple(problems[:-1])
    kept = InvalidInput(iter(problems)).problems
    assert kept[:-1] == tuple(problems[: MOST_PROBLEMS - 1])
    assert kept[-1].message == "these are the first 999 problems; there are more"
    assert InvalidInput(kept).problems == kept


class NotFoundException(Exception):
    """An error of another library, whose message begins with its type."""


@pytest.mark.parametrize(
    ("error", "typed", "message"),
    [
        (NotFoundException("NotFoundException: 404"), "NotFoundException: 404", "NotFoundException: 404"),
        (NotFoundException("404"), "NotFoundException: 404", "NotFoundException: 404"),
        (
            NotFoundException("NotFoundExceptions: 2"),
            "NotFoundException: NotFoundExceptions: 2",
            "NotFoundException: NotFoundExceptions: 2",
        ),
        (KeyError("web"), "KeyError: 'web'", "KeyError: 'web'"),
        (NotFound("no stack 'web'"), "NotFound: no stack 'web'", "no stack 'web'"),
    ],
)
def test_a_message_names_its_type_once(error: Exception, typed: str, message: str) -> None:
    assert (typed_message(error), message_of(error), fault_of(error)) == (typed, message, typed)


def test_no_other_code_puts_a_type_before_a_message() -> None:
    root = Path(errors.__file__).parents[1]
    files = [file for room in ("orchestrator", "workers") for file in (root / room).rglob("*.py")]
    assert len(files) > 100
    composed = re.compile(r"\{type\((\w+)\)\.__name__\}: \{\1\}")
    assert [str(file) for file in files if composed.search(file.read_text(encoding="utf-8"))] == []
