"""The parts of applied values that are secrets, by the definition that gave them.

A part is a secret if its expression reads a hidden parameter, or an attribute that its type declares as sensitive.
Plain values of other attributes, such as addresses, are none.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.definition import AttributePath, StackDefinition
from orchestrator.template.functions.base import Function
from orchestrator.template.functions.references import ALL_ATTRIBUTES


@dataclass(frozen=True, slots=True)
class HiddenNames(Collection[str]):
    """The names of hidden parameters; of earlier definitions also those that are no parameters any more."""

    hidden: frozenset[str]
    known: Collection[str]

    def __contains__(self, name: object) -> bool:
        return name in self.hidden or name not in self.known

    def __iter__(self) -> Iterator[str]:
        return iter(self.hidden)

    def __len__(self) -> int:
        return len(self.hidden)


def secret_parts(
    part: object, value: object, stack: StackDefinition, hidden: Collection[str]
) -> Iterator[object]:
    """Yield the parts of ``value``, which the expression ``part`` gave, that are secrets.

    ``stack`` has the resources that the definition requires. What a resource gave that is not among them is a secret.
    """
    if isinstance(part, Function):
        if holds_secret(part, stack, hidden):
            yield value
    elif isinstance(part, dict) and isinstance(value, Mapping):
        for key, item in part.items():
            if key in value:
                yield from secret_parts(item, value[key], stack, hidden)
    elif isinstance(part, list) and isinstance(value, (list, tuple)):
        for item, found in zip(part, value, strict=False):
            yield from secret_parts(item, found, stack, hidden)


def holds_secret(value: Any, stack: StackDefinition, hidden: Collection[str]) -> bool:
    """Return whether a call in ``value`` reads a secret."""
    if isinstance(value, dict):
        return any(holds_secret(item, stack, hidden) for item in value.values())
    if isinstance(value, list):
        return any(holds_secret(item, stack, hidden) for item in value)
    if not isinstance(value, Function):
        return False
    if holds_secret(value.arguments, stack, hidden):
        return True
    names = tuple(value.dependencies())
    if names:
        paths = tuple(value.required_attributes()) or tuple((name, ()) for name in names)
        return any(_is_secret(name, path, stack) for name, path in paths)
    return not value.pure and not value.is_open_in(stack, hidden)


def _is_secret(name: str, path: AttributePath, stack: StackDefinition) -> bool:
    """Return whether an attribute of a resource is a secret, holds one, or is unknown; no path: the reference id."""
    resource = stack.resources.get(name)
    if resource is None or resource.data is None:
        return True
    if not path or path[0] == ALL_ATTRIBUTES:
        return any(not path or bool(each) for each in resource.data.secrets if bool(each) == bool(path))
    return any(each[: len(path)] == path[: len(each)] for each in resource.data.secrets if each)
