"""Requester: the resource for which a client calls a machine, stated beside the arguments of every RPC.

An agent keeps it with each object that it makes, and refuses the object to others.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, Self

from hooks.values.dataclass import dataclass

#: The argument that holds it, which is no name of a parameter; agents take it off before an RPC receives the others.
REQUESTER: Final = "@requester"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """A resource of a stack."""

    project: str
    #: The stack's id, and its name, which may be shown within the project.
    stack: str
    stack_name: str
    #: The resource's name, and the id of its row.
    resource: str
    uuid: str

    def is_same_resource(self, other: Self) -> bool:
        """Return whether both are rows of one resource: of two, one replaces the other."""
        return (self.stack, self.resource) == (other.stack, other.resource)

    def to_wire(self) -> dict[str, str]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        return asdict(self)

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types; unknown fields of another version are ignored.

        Raises:
            ValueError: a field is missing, or no text.
        """
        fields = {name: data.get(name) for name in cls.__slots__}
        for name, value in fields.items():
            if not isinstance(value, str):
                raise ValueError(f"{name}: expected a text, found {type(value).__name__}")
        return cls(**{name: str(value) for name, value in fields.items()})
