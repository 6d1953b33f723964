"""What every method of the store that connects promises, found by looking at all of them."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache

import pytest

import orchestrator.store

#: Reaches for a connection by itself.
_CONNECTS = re.compile(r"_(db|database)\.((timed_)?(write|transaction)|read|reading|snapshot|moment)\(")


@cache
def classes() -> tuple[type, ...]:
    """Return the classes that modules of the store define."""
    names = [each.name for each in pkgutil.walk_packages(orchestrator.store.__path__, "orchestrator.store.")]
    modules = [importlib.import_module(name) for name in names if ".migrations." not in name]
    return tuple(
        each
        for module in modules
        for each in vars(module).values()
        if inspect.isclass(each) and each.__module__ == module.__name__
    )


def connecting() -> Iterator[str]:
    for each in classes():
        for name, method in vars(each).items():
            is_public = not name.startswith("_") and inspect.isfunction(method)
            if is_public and _CONNECTS.search(inspect.getsource(method)):
                yield f"{each.__module__}:{each.__name__}.{name}"


@pytest.mark.parametrize("method", [*connecting()])
def test_what_connects_says_what_becomes_of_a_lost_connection(method: str) -> None:
    """By ``retrying`` or ``tried_once``: callers get Unavailable, and no error of a driver."""
    module, _, path = method.partition(":")
    found = inspect.getattr_static(*_owner(module, path))
    assert hasattr(found, "__wrapped__"), f"{method} is neither retried nor tried once"


def _owner(module: str, path: str) -> tuple[object, str]:
    owner, _, name = path.partition(".")
    return getattr(importlib.import_module(module), owner), name
