"""Registry of resource types: the entry points of installed packages, by the type's name."""

from functools import cache

from hooks.loading.index import entry_points
from hooks.values.nearest import SOMEWHAT_ALIKE, Nearest
from orchestrator.errors import PluginMistake
from orchestrator.plugins.client_plugin import NAMESPACE as CLIENTS
from orchestrator.plugins.groups import VersionedProperties
from orchestrator.plugins.loading import PluginsByName, PluginsOnDemand, load_classes
from orchestrator.plugins.resource import Resource

#: The entry point group of resource types.
NAMESPACE = "isotherm.resources"


class ResourceTypes(PluginsByName[type[Resource]]):
    """Resource types by name; immutable."""

    missing = "there is no resource type {!r}"
    suggestions = 3

    @classmethod
    def load(cls, namespace: str = NAMESPACE) -> "ResourceTypes":
        """Return the installed types, which are loaded once per process.

        Raises:
            PluginMistake: there are none (a source tree that is not installed), a type cannot be imported, is
                no resource type, its name is taken, or its groups name a client plugin that is not installed.
        """
        return _load(namespace)

    @classmethod
    def on_demand(cls, namespace: str = NAMESPACE) -> "ResourceTypes":
        """Return the installed types, each of which is loaded when it is looked up: for commands.

        Raises:
            PluginMistake: there are none; or later, as for :meth:`load`.
        """
        return _on_demand(namespace)


@cache
def installed_types() -> frozenset[str]:
    """Return the names of the installed resource types, without importing them."""
    return frozenset(entry.name for entry in entry_points(group=NAMESPACE))


@cache
def _load(namespace: str) -> ResourceTypes:
    types = load_classes(namespace, Resource, "resource type")
    for name, kind in types.items():
        refuse_unknown_clients(name, kind)
    return ResourceTypes(types)


@cache
def _on_demand(namespace: str) -> ResourceTypes:
    def fit(name: str, kind: type[Resource]) -> type[Resource]:
        refuse_unknown_clients(name, kind)
        return kind

    return ResourceTypes(PluginsOnDemand(namespace, Resource, "resource type", fit))


def refuse_unknown_clients(name: str, kind: type[Resource]) -> None:
    """Check that the client plugins in a type's groups are installed, without importing them.

    Raises:
        PluginMistake: one is not; the message names the nearest.
    """
    installed = {entry.name for entry in entry_points(group=CLIENTS)}
    for group in kind.properties_groups:
        if isinstance(group, VersionedProperties) and group.client_plugin not in installed:
            there = f"there are: {', '.join(sorted(installed)) or 'none'}"
            hint = Nearest(alike=SOMEWHAT_ALIKE).hint(group.client_plugin, installed, there)
            raise PluginMistake(
                f"resource type {name!r} has properties that depend on API versions of the client plugin "
                f"{group.client_plugin!r}, which is not installed ({hint})"
            )
