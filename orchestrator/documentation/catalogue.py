"""Catalogue: descriptions of all installed types, constraints and clients; deterministic for the same packages."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any

from orchestrator.config.settings import Settings
from orchestrator.documentation.example import Examples
from orchestrator.documentation.origin import UNKNOWN_ORIGIN, Origin, origins
from orchestrator.documentation.resource_type import describe_type
from orchestrator.documentation.schema import describe_properties, text
from orchestrator.errors import PluginMistake
from orchestrator.plugins import client_plugin, custom, registry
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.clients import ClientPlugins
from orchestrator.plugins.custom import ClientConstraint, CustomConstraint, CustomConstraints
from orchestrator.plugins.registry import ResourceTypes


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Descriptions by name, in the order of the names."""

    types: Mapping[str, Mapping[str, Any]]
    constraints: Mapping[str, Mapping[str, Any]]
    clients: Mapping[str, Mapping[str, Any]]

    @classmethod
    def load(
        cls,
        settings: Settings,
        *,
        names: Collection[str] = (),
        types: str = registry.NAMESPACE,
        constraints: str = custom.NAMESPACE,
        clients: str = client_plugin.NAMESPACE,
    ) -> "Catalogue":
        """Return the catalogue; of the resource types those in ``names``, or if it is empty, all but hidden ones.

        ``types``, ``constraints`` and ``clients`` are groups of entry points.

        Raises:
            NotFound: there is no such type; the message names the nearest.
            PluginMistake: a plugin cannot be loaded, or described.
        """
        found = ResourceTypes.load(types)
        shown = names or [name for name, kind in found.items() if not kind.support_status.is_hidden]
        return cls(
            types=described_types(found, settings, names=shown, namespace=types),
            constraints=described_constraints(constraints),
            clients=_clients(clients),
        )


def described_types(
    found: ResourceTypes, settings: Settings, *, names: Collection[str], namespace: str = registry.NAMESPACE
) -> dict[str, dict[str, object]]:
    """Return the descriptions of the types ``names`` among those of a group of entry points.

    Raises:
        NotFound: there is no such type.
        PluginMistake: a type cannot be described.
    """
    examples, known = Examples(found, settings), origins(namespace)
    return {
        name: describe_type(
            name, found.find(name), origin=known.get(name, UNKNOWN_ORIGIN), example=examples.of(name)
        )
        for name in sorted(set(names))
    }


def described_constraints(namespace: str = custom.NAMESPACE) -> dict[str, dict[str, object]]:
    """Return the descriptions of the custom constraints among a group of entry points.

    Raises:
        PluginMistake: one cannot be loaded.
    """
    known = origins(namespace)
    return {
        name: _describe_constraint(name, constraint, known.get(name, UNKNOWN_ORIGIN))
        for name, constraint in sorted(CustomConstraints.load(namespace).items())
    }


def _describe_constraint(name: str, constraint: CustomConstraint, origin: Origin) -> dict[str, object]:
    of_client = constraint if isinstance(constraint, ClientConstraint) else None
    return {
        "name": name,
        "description": _about(type(constraint)),
        "origin": dict(origin),
        "asks_outside": constraint.asks_outside,
        "client": text(of_client.client) if of_client else None,
        "entity": text(of_client.entity) if of_client else None,
    }


def _clients(namespace: str) -> dict[str, dict[str, object]]:
    known = origins(namespace)
    return {
        name: _describe_client(name, kind, known.get(name, UNKNOWN_ORIGIN))
        for name, kind in sorted(ClientPlugins.load(namespace).items())
    }


def _describe_client(name: str, kind: type[ClientPlugin], origin: Origin) -> dict[str, object]:
    try:
        return {
            "name": name,
            "description": text(kind.description) or _about(kind),
            "origin": dict(origin),
            "settings_of": text(kind.settings_of or name),
            "options": describe_properties(kind.options_schema),
            "entities": sorted(map(text, kind.entities)),
        }
    except Exception as error:
        message = f"client plugin {name!r} cannot be described: {error or type(error).__name__}"
        raise PluginMistake(message) from error


def _about(kind: type) -> str:
    """Return a class's own docstring, without inheritance and without its sections for programmers."""
    docstring = cleandoc(kind.__doc__ or "")
    return text(re.split(r"^(?:Args|Attributes|Raises):$", docstring, maxsplit=1, flags=re.MULTILINE)[0])
