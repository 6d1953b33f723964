"""The roster of a group: its members and their definitions, kept between two steps."""

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import Any, Final, Self

from hooks.values.dataclass import dataclass
from orchestrator.definition import UNKNOWN
from workers.resources.core.groups.batches import Batch, Present

#: The version of the templates that groups make.
VERSION: Final = "2021-04-16"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The target members of a group, oldest first."""

    #: The key of each member's definition, by the member's name.
    members: Mapping[str, str] = field(default_factory=dict)
    #: The definitions in use, by a key that stays the same as long as any member has it.
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: The target number of members; None before the first. During changes there may be more or fewer.
    size: int | None = None
    #: The number of members ever made: their names are not reused.
    made: int = 0

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Return the roster of :meth:`to_data`; of nothing, an empty one."""
        return cls(
            members=dict(data.get("members", ())),
            definitions=data.get("definitions", {}),
            size=data.get("size"),
            made=data.get("made", 0),
        )

    def to_data(self) -> dict[str, Any]:
        """Return plain types, without definitions that no member has."""
        used = set(self.members.values())
        return {
            "members": [list(each) for each in self.members.items()],
            "definitions": {key: dict(each) for key, each in self.definitions.items() if key in used},
            "size": self.size,
            "made": self.made,
        }

    def knowing(self, definition: Mapping[str, Any]) -> tuple[Self, str]:
        """Return this roster with a definition added, and the definition's key."""
        for key, known in self.definitions.items():
            if known == definition:
                return self, key
        key = str(1 + max(map(int, self.definitions), default=0))
        return replace(self, definitions={**self.definitions, key: definition}), key

    def present(self, key: str, serving: Collection[str]) -> tuple[Present, ...]:
        """Return the members, compared with the definition ``key``."""
        return tuple(
            Present(name=name, is_current=own == key, is_serving=name in serving)
            for name, own in self.members.items()
        )

    def after(self, batch: Batch, key: str) -> Self:
        """Return the roster after a batch, whose members have the definition ``key``."""
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
    """Return a definition as in a template, without empty sections."""
    return {section: value for section, value in definition.items() if value or section == "type"}


def is_known(definition: object) -> bool:
    """Return whether enough of a definition is known for a template: its type, and the names of its properties."""
    return isinstance(definition, Mapping) and UNKNOWN not in definition.values()
