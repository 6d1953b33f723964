"""The resources of a stack as a resource type sees them that adds requirements of its own."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from orchestrator.plugins.resource import Resource

#: What begins the text that stands for a resource's id; no template can contain it.
_MARK: Final = "\0"


def reference_to(name: str) -> str:
    """Return the text that stands for ``{get_resource: name}`` before the resource exists."""
    return f"{_MARK}{name}"


def reference_of(value: object) -> str | None:
    """Return the name of the resource to whose id a property refers; None if it is anything else."""
    return value[1:] if isinstance(value, str) and value.startswith(_MARK) else None


class Sibling:
    """One resource of a stack: its name, its type, and its properties as far as they are known."""

    def __init__(
        self, name: str, kind: "type[Resource] | None", properties: Callable[[], Mapping[str, Any]]
    ) -> None:
        """``kind`` is None for a nested template; ``properties`` is called when they are first used."""
        self.name, self.kind, self._properties = name, kind, properties

    @cached_property
    def properties(self) -> Mapping[str, Any]:
        """The properties, converted and translated, with every name of the schema; empty if they are wrong.

        ``{get_resource: name}`` is a text that :func:`reference_of` reads; other values that only a resource still to
        be made can give are ``UNKNOWN``.
        """
        return self._properties()


class Siblings(Mapping[str, Sibling]):
    """All resources of a stack, by name."""

    def __init__(self, siblings: Mapping[str, Sibling]) -> None:
        self._siblings = siblings
        self._of: dict[tuple[type[Any], ...], tuple[Sibling, ...]] = {}

    def __getitem__(self, name: str) -> Sibling:
        return self._siblings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._siblings)

    def __len__(self) -> int:
        return len(self._siblings)

    def of(self, *kinds: "type[Resource]") -> tuple[Sibling, ...]:
        """Return the resources of these types, or of types derived from them, in the template's order."""
        if kinds not in self._of:
            found = (each for each in self.values() if each.kind is not None and issubclass(each.kind, kinds))
            self._of[kinds] = tuple(found)
        return self._of[kinds]
