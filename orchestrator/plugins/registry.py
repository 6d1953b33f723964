"""Where resource types are found: entry points of installed packages, by the type's name."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache

from orchestrator.errors import NotFound
from orchestrator.plugins.loading import load_classes
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
    return ResourceTypes(load_classes(namespace, Resource, "resource type"))
