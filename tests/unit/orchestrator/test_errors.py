"""The tree in the errors module's docstring is the tree of the classes."""

import importlib
import pkgutil
import re

import pytest

import orchestrator
from orchestrator import errors
from orchestrator.cli.errors import exit_code
from orchestrator.errors import IsothermError

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
