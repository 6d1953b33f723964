"""A part of the store, imported and made at its first use: a command uses few."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def part(place: str, needs: Callable[[Any], tuple[Any, ...]] = lambda store: store.parts) -> Any:
    """Return an attribute of the store, which is made at its first use: operations on some of its tables.

    ``place`` is the module below ``orchestrator.store`` and the class there. ``needs`` returns what the class is made
    of: by default, what every :class:`~orchestrator.store.repository.Repository` is.
    """
    return _Part(place, needs)


def import_parts(owner: type) -> None:
    """Import the modules of all parts of a class, for a process that uses most of them sooner or later."""
    for each in vars(owner).values():
        if isinstance(each, _Part):
            each.load()


class _Part:
    def __init__(self, place: str, needs: Callable[[Any], tuple[Any, ...]]) -> None:
        self._place, self._needs = place, needs

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, store: Any, owner: type) -> Any:
        if store is None:
            return self
        # From now on, the attribute is found before this object is. Of two threads, both get the one that comes first.
        return store.__dict__.setdefault(self._name, self.load()(*self._needs(store)))

    def load(self) -> Any:
        """Return the class, with its module imported."""
        module, _, name = self._place.partition(":")
        return getattr(import_module(f"orchestrator.store.{module}"), name)
