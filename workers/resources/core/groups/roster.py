"""Who belongs to a group, and by which definition: what a group remembers between two steps."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from orchestrator.definition import UNKNOWN
from workers.resources.core.groups.batches import Batch, Present

#: The version of the templates that groups make.
VERSION: Final = "2021-04-16"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The members of a group as they were last asked for, oldest first."""

    #: The key of each member's definition, by the member's name.
    members: Mapping[str, str] = field(default_factory=dict)
    #: The definitions in use, by a key that stands for the same as long as any member has it.
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: How many members there were to be; None before anybody said so. While they change there may be more or fewer.
    size: int | None = None
    #: How many members were ever made: their names are not used again.
    made: int = 0

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from what :meth:`to_data` gave; from nothing, an empty roster."""
        return cls(
            members=dict(data.get("members", ())),
            definitions=data.get("definitions", {}),
            size=data.get("size"),
            made=data.get("made", 0),
        )

    def to_data(self) -> dict[str, Any]:
        """Return plain types: definitions that nobody has are left out."""
        used = set(self.members.values())
        return {
            "members": [list(each) for each in self.members.items()],
            "definitions": {key: dict(each) for key, each in self.definitions.items() if key in used},
            "size": self.size,
            "made": self.made,
        }

    def knowing(self, definition: Mapping[str, Any]) -> tuple[Self, str]:
        """Return this roster with a definition in it, and the definition's key."""
        for key, known in self.definitions.items():
            if known == definition:
                return self, key
        key = str(1 + max(map(int, self.definitions), default=0))
        return replace(self, definitions={**self.definitions, key: definition}), key

    def present(self, key: str, serving: Collection[str]) -> tuple[Present, ...]:
        """Return the members as seen by whoever wants them to have the definition ``key``."""
        return tuple(
            Present(name=name, is_current=own == key, is_serving=name in serving)
            for name, own in self.members.items()
        )

    def after(self, batch: Batch, key: str) -> Self:
        """Return the roster that a batch leads to, in which its members have the definition ``key``."""
        kept = {
            name: key if name in batch.change else own
            for name, own in self.members.items()
            if name not in batch.drop
        }
        members = {**kept, **dict.fromkeys(batch.make, key)}
        return replace(self, members=members, made=self.made + len(batch.make))


def template_of(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template of these resources, as plain values."""
    return {"heat_template_version": VERSION, "resources": dict(resources)}


def written_out(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition as a template says it: what is empty is left out."""
    return {section: said for section, said in definition.items() if said or section == "type"}


def is_known(definition: Any) -> bool:
    """Whether so much of a definition is known that a template can say it: its type, and which properties there are."""
    return isinstance(definition, Mapping) and UNKNOWN not in definition.values()
