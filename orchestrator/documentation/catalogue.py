"""Everything that is installed, with its descriptions; read once, and the same for the same packages."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.documentation.example import Examples
from orchestrator.documentation.origin import UNKNOWN_ORIGIN, Origin, origins
from orchestrator.documentation.resource_type import describe_type
from orchestrator.documentation.schema import text
from orchestrator.plugins import custom, registry
from orchestrator.plugins.custom import CustomConstraint, CustomConstraints
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Descriptions by name, in the order of the names."""

    types: Mapping[str, Mapping[str, Any]]
    constraints: Mapping[str, Mapping[str, Any]]

    @classmethod
    def load(
        cls,
        settings: Settings,
        *,
        names: Collection[str] = (),
        types: str = registry.NAMESPACE,
        constraints: str = custom.NAMESPACE,
    ) -> "Catalogue":
        """Return what is installed; of the resource types only those in ``names``, if there are any.

        Args:
            settings: What examples are validated under.
            names: Resource types.
            types: The group of entry points of resource types.
            constraints: That of custom constraints.

        Raises:
            NotFound: there is no such type; the sentence names the nearest.
            PluginMistake: something cannot be loaded, or described.
        """
        found = ResourceTypes.load(types)
        for name in names:
            found.find(name)
        return cls(
            types=described_types(found, settings, names=names or found, namespace=types),
            constraints=_constraints(constraints),
        )


def described_types(
    found: ResourceTypes, settings: Settings, *, names: Collection[str], namespace: str = registry.NAMESPACE
) -> dict[str, dict[str, Any]]:
    """Return the descriptions of some of the types that were found in a group of entry points.

    Raises:
        NotFound: one of them is not among them.
        PluginMistake: one cannot be described.
    """
    examples, known = Examples(found, settings), origins(namespace)
    return {
        name: describe_type(
            name, found.find(name), origin=known.get(name, UNKNOWN_ORIGIN), example=examples.of(name)
        )
        for name in sorted(set(names))
    }


def _constraints(namespace: str) -> dict[str, dict[str, Any]]:
    known = origins(namespace)
    return {
        name: _describe_constraint(name, constraint, known.get(name, UNKNOWN_ORIGIN))
        for name, constraint in sorted(CustomConstraints.load(namespace).items())
    }


def _describe_constraint(name: str, constraint: CustomConstraint, origin: Origin) -> dict[str, Any]:
    return {
        "name": name,
        # Of the class itself: what its base promises is not what it checks.
        "description": text(type(constraint).__doc__ or ""),
        "origin": origin.to_dict(),
        "asks_outside": constraint.asks_outside,
    }
