"""Public API of Isotherm: all that packages of other authors, scripts and receivers of calls may rely on.

::

    isotherm.connect      a connection to stacks, for scripts
    isotherm.resources    contract of resource types
    isotherm.properties   schemas of a type, and rules on which properties go together
    isotherm.constraints  constraints on values, and custom constraints
    isotherm.clients      contract of client plugins
    isotherm.functions    contract of template functions, and the stack that functions and resources see
    isotherm.hooks        contracts of lifecycle plugins and event sinks, and verification of signed calls
    isotherm.nodes        contracts of hypervisors, storage and node RPCs of agents
    isotherm.authenticators  contract of authenticators: who a caller is
    isotherm.errors       errors raised on purpose
    isotherm.testing      conformance tests for packages

Names that are in ``__all__`` of none of these modules may move at any time: the packages ``orchestrator``,
``workers``, ``cache`` and ``hooks`` are Isotherm's own. Each module is imported at its first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isotherm import (
        authenticators,
        clients,
        constraints,
        errors,
        functions,
        hooks,
        nodes,
        properties,
        resources,
        testing,
    )
    from isotherm.connection import Connection, connect

__all__ = [
    "Connection",
    "authenticators",
    "clients",
    "connect",
    "constraints",
    "errors",
    "functions",
    "hooks",
    "nodes",
    "properties",
    "resources",
    "testing",
]

_IN_CONNECTION = ("Connection", "connect")

if not TYPE_CHECKING:
    # A type checker that saw this would accept every name.

    def __getattr__(name: str) -> Any:
        """Import a name of ``__all__``."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in _IN_CONNECTION:
            return getattr(import_module("isotherm.connection"), name)
        return import_module(f"isotherm.{name}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
