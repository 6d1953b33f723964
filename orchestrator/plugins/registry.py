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

from hooks.origin import origin_of
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
    found: dict[str, Any] = {}
    for extension in ExtensionManager(namespace, on_load_failure_callback=_refuse):
        name, plugin, entry = extension.name, extension.plugin, extension.entry_point
        if not (isinstance(plugin, type) and issubclass(plugin, Resource)):
            raise PluginMistake(f"{_describe(entry)} is {plugin!r}, which is no subclass of Resource")
        rival = found.setdefault(name, extension)
        if rival.plugin is not plugin:
            origins = " and ".join(sorted(f"({origin_of(each)})" for each in (rival.entry_point, entry)))
            raise PluginMistake(f"resource type {name!r} is brought by two packages, {origins}: remove one")
    if not found:
        raise PluginMistake(f"no package brings entry points {namespace!r}: is isotherm itself installed?")
    return ResourceTypes({name: found[name].plugin for name in sorted(found)})


def _describe(entry: EntryPoint) -> str:
    return f"resource type {entry.name!r} ({origin_of(entry)})"


def _refuse(_manager: Any, entry: EntryPoint, error: BaseException) -> None:
    raise PluginMistake(f"{_describe(entry)} cannot be loaded: {error}") from error
