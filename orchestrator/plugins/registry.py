"""Where resource types are found: entry points of installed packages, by the type's name.

Nothing is registered as a side effect of an import. A type that cannot be loaded stops the process: otherwise
a stack that uses it would fail later, on one worker and not on the next.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

from stevedore.extension import ExtensionManager

from orchestrator.errors import NotFound, PluginMistake
from orchestrator.plugins.resource import Resource

#: The entry point group of resource types.
NAMESPACE = "isotherm.resources"


class ResourceTypes(Mapping[str, type[Resource]]):
    """The resource types there are, by name; immutable."""

    def __init__(self, types: Mapping[str, type[Resource]]) -> None:
        self._types = dict(types)

    @classmethod
    def load(cls, namespace: str = NAMESPACE) -> "ResourceTypes":
        """Return the installed types; they are looked for once per process.

        Raises:
            PluginMistake: there are none (a source tree that is not installed), a type cannot be imported, is
                no resource type, or its name is taken by another.
        """
        return _load(namespace)

    def find(self, name: str) -> type[Resource]:
        """Return the type called ``name``.

        Raises:
            NotFound: there is none; the sentence names the nearest.
        """
        try:
            return self._types[name]
        except KeyError:
            near = get_close_matches(name, self._types, 3, 0.5)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise NotFound(f"there is no resource type {name!r}{hint}") from None

    def __getitem__(self, name: str) -> type[Resource]:
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)


@cache
def _load(namespace: str) -> ResourceTypes:
    types: dict[str, type[Resource]] = {}
    for extension in ExtensionManager(namespace, on_load_failure_callback=_refuse):
        name, plugin = extension.name, extension.plugin
        if not (isinstance(plugin, type) and issubclass(plugin, Resource)):
            raise PluginMistake(f"resource type {name!r} is {plugin!r}, which is no subclass of Resource")
        if types.setdefault(name, plugin) is not plugin:
            rivals = f"{types[name].__module__} and {plugin.__module__}"
            raise PluginMistake(f"resource type {name!r} is brought by two modules, {rivals}: remove one")
    if not types:
        raise PluginMistake(f"no package brings entry points {namespace!r}: is isotherm itself installed?")
    return ResourceTypes(dict(sorted(types.items())))


def _refuse(_manager: Any, entry: EntryPoint, error: BaseException) -> None:
    raise PluginMistake(
        f"resource type {entry.name!r} cannot be loaded from {entry.value}: {error}"
    ) from error
