"""What all types have in common whose stack is made of like members: how they tell of them."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from orchestrator.definition import AttributePath, follow
from orchestrator.plugins.properties import EVERY_ATTRIBUTE, Attribute, PropertyType
from orchestrator.plugins.stack_resource import Member, StackResource, asked_of_members, member_path

REFS: Final = "refs"
REFS_MAP: Final = "refs_map"

#: The attributes that every type of group has.
REFERENCES: Final[Mapping[str, Attribute]] = {
    REFS: Attribute("What get_resource gives of each member, a list.", PropertyType.LIST),
    REFS_MAP: Attribute("What get_resource gives of each member, by the member's name.", PropertyType.MAP),
}


class MemberStack(StackResource):
    """Base of types whose stack is made of like members.

    A subclass implements :meth:`names`, :meth:`own_attribute`, and whatever :class:`StackResource` asks for. Besides
    the attributes of its schema such a resource has those of its members, each a list of what the members say, and
    ``resource.NAME`` with what follows it for one of them.
    """

    #: The attributes followed by one of the members', which give a map of what they say by name, and a list.
    maps: ClassVar[frozenset[str]] = frozenset()
    lists: ClassVar[frozenset[str]] = frozenset()

    def names(self) -> Sequence[str]:
        """Return the names of the members, in the order in which they are told of."""
        raise NotImplementedError

    def own_attribute(self, name: str) -> Any:
        """Return an attribute of the schema that no member need be asked for; None if there is no such attribute."""
        if name == REFS:
            return [member.reference_id for member in self.members()]
        if name == REFS_MAP:
            return {member.name: member.reference_id for member in self.members()}
        return None

    def members(self) -> list[Member]:
        """Return the members that there are, in order."""
        there = {member.name: member for member in self.stacks.members()}
        return [there[name] for name in self.names() if name in there]

    def named(self, path: AttributePath) -> AttributePath:
        """Return the path of ``resource.NAME...`` with the member's real name in it."""
        return path

    # -- attributes --------------------------------------------------------------------------------------------

    def asks(self) -> tuple[AttributePath, ...]:
        """Return what must be asked of the members for what is asked of this resource."""
        wanted = [self.named(tuple(path)) for path in self.wanted]
        of_all = {path for path in map(self._asked_of_all, wanted) if path}
        asks = {(name, *path) for name in self.names() for path in of_all}
        return tuple(sorted({*asks, *asked_of_members(wanted)}, key=repr))

    def _asked_of_all(self, path: AttributePath) -> AttributePath:
        """Return what a path asks of every member; nothing if it asks nothing."""
        name = str(path[0])
        if name in self.maps | self.lists:
            return path[1:]
        if member_path(path) is not None or name in self.attributes_schema or name in EVERY_ATTRIBUTE:
            return ()
        return path

    def attribute(self, name: str) -> Any:
        """Return an attribute as a whole."""
        return self.attribute_at((name,))

    def attribute_at(self, path: AttributePath) -> Any:
        """Return what is asked for under ``path``, of this resource, of all its members or of one."""
        path = self.named(path)
        name = str(path[0])
        if member_path(path) is not None:
            return super().attribute_at(path)
        if len(path) == 1 and name in EVERY_ATTRIBUTE:
            return {each: self.attribute_at((each,)) for each in self.attributes_schema}
        asked = self._asked_of_all(path)
        if not asked:
            return follow(self.own_attribute(name), path[1:])
        if name in self.maps:
            return {member.name: member.at(asked) for member in self.members()}
        return [member.at(asked) for member in self.members()]
