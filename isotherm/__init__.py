"""The public face of Isotherm: all that packages of other authors, scripts and receivers of calls may rely on.

::

    isotherm.connect      a connection to stacks, for scripts
    isotherm.resources    to write a resource type
    isotherm.properties   the schemas of a type, and which properties go together
    isotherm.constraints  what a value must hold, and constraints of your own
    isotherm.clients      to write a client of another system
    isotherm.hooks        to write a lifecycle plugin or an event sink, and to receive signed calls
    isotherm.nodes        to teach agents hypervisors, storage and calls
    isotherm.errors       what is raised on purpose
    isotherm.testing      tests that hold a package to its contract

Whatever is not in one of these modules' ``__all__`` may move at any time: the packages ``orchestrator``, ``workers``,
``cache`` and ``hooks`` are Isotherm's own. Nothing is imported before it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isotherm import clients, constraints, errors, hooks, nodes, properties, resources, testing
    from isotherm.connection import Connection, connect

__all__ = [
    "Connection",
    "clients",
    "connect",
    "constraints",
    "errors",
    "hooks",
    "nodes",
    "properties",
    "resources",
    "testing",
]

_IN_CONNECTION = ("Connection", "connect")

if not TYPE_CHECKING:
    # A type checker that saw this would believe in every name.

    def __getattr__(name: str) -> Any:
        """Import what is asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in _IN_CONNECTION:
            return getattr(import_module("isotherm.connection"), name)
        return import_module(f"isotherm.{name}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
