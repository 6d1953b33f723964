"""The base of types whose stack consists of similar members: their attributes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from orchestrator.definition import AttributePath, follow
from orchestrator.plugins.properties import EVERY_ATTRIBUTE, Attribute, PropertyType
from orchestrator.plugins.stack_resource import Member, StackResource, member_attributes, member_path

REFS: Final = "refs"
REFS_MAP: Final = "refs_map"

#: The attributes of every type of group.
REFERENCES: Final[Mapping[str, Attribute]] = {
    REFS: Attribute("What get_resource gives of each member, a list.", PropertyType.LIST),
    REFS_MAP: Attribute("What get_resource gives of each member, by the member's name.", PropertyType.MAP),
}


class MemberStack(StackResource, ABC):
    """Base of types whose stack consists of similar members.

    A subclass implements :meth:`names`, :meth:`own_attribute`, and the methods of :class:`StackResource`. Besides
    the attributes of its schema such a resource has those of its members, each a list of the members' values, and
    ``resource.NAME`` with what follows it for a single one.
    """

    #: The attributes that, followed by a member's attribute, give a map of values by name instead of a list.
    maps: ClassVar[frozenset[str]] = frozenset()
    lists: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Return the names of the members, in the order of lists."""

    def own_attribute(self, name: str) -> object:
        """Return an attribute of the schema that needs no member; None if there is no such attribute."""
        if name == REFS:
            return [member.reference_id for member in self.members()]
        if name == REFS_MAP:
            return {member.name: member.reference_id for member in self.members()}
        return None

    def members(self) -> list[Member]:
        """Return the existing members, in order."""
        existing = {member.name: member for member in self.stacks.members()}
        return [existing[name] for name in self.names() if name in existing]

    def named(self, path: AttributePath) -> AttributePath:
        """Return the path of ``resource.NAME...`` with the member's real name in it."""
        return path

    def asks(self) -> tuple[AttributePath, ...]:
        """Return the members' attributes that this resource's requested attributes need."""
        wanted = [self.named(tuple(path)) for path in self.wanted]
        of_all = {path for path in map(self._of_every_member, wanted) if path}
        asks = {(name, *path) for name in self.names() for path in of_all}
        return tuple(sorted({*asks, *member_attributes(wanted)}, key=repr))

    def _of_every_member(self, path: AttributePath) -> AttributePath:
        """Return the path that is read of every member; empty if none is."""
        name = str(path[0])
        if name in self.maps | self.lists:
            return path[1:]
        if member_path(path) is not None or name in self.attributes_schema or name in EVERY_ATTRIBUTE:
            return ()
        return path

    def attribute(self, name: str) -> Any:
        """Return an attribute as a whole."""
        return self.attribute_at((name,))

    def attribute_at(self, path: AttributePath) -> object:
        """Return the value at ``path``: of this resource, of all its members or of one."""
        path = self.named(path)
        name = str(path[0])
        if member_path(path) is not None:
            return super().attribute_at(path)
        if len(path) == 1 and name in EVERY_ATTRIBUTE:
            return {each: self.attribute_at((each,)) for each in self.attributes_schema}
        member_attribute = self._of_every_member(path)
        if not member_attribute:
            return follow(self.own_attribute(name), path[1:])
        if name in self.maps:
            return {member.name: member.at(member_attribute) for member in self.members()}
        return [member.at(member_attribute) for member in self.members()]
