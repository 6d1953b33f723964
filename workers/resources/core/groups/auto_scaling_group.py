"""``OS::Heat::AutoScalingGroup``: resources of one kind, in the number that its scaling policies set."""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final

from hooks.values.nearest import Nearest
from orchestrator.definition import UNKNOWN, AttributePath, is_unknown
from orchestrator.plugins.constraints import Range
from orchestrator.plugins.properties import Attribute, PropertyError, PropertyType
from orchestrator.plugins.scaling import ScalableResource
from orchestrator.plugins.stack_resource import Blueprint, Child, member_path
from workers.resources.core.groups.batches import Batching, Present
from workers.resources.core.groups.group import ROSTER, Group
from workers.resources.core.groups.member_stack import REFERENCES
from workers.resources.core.groups.roster import Roster, is_known, template_of, written_out
from workers.resources.core.groups.update_policies import ROLLING_UPDATE_SCHEMA, batching_of
from workers.resources.schemas import integer, mapping, number

#: The private fact with the time of the last change of the size by a policy.
_SCALED_AT: Final = "scaled_at"
#: The sections of a member's definition.
SECTIONS: Final = ("type", "properties", "metadata", "deletion_policy", "update_policy")
#: Long enough that two members of a group are unlikely to share a name, and short enough to be read.
_NAME_LETTERS: Final = 12


def member_name(group: str, number: int) -> str:
    """Return the name of the ``number``-th member ever made of the group with this row id.

    Deterministic, so that a step that is run again makes the same members.
    """
    digest = hashlib.sha256(f"{group}/{number}".encode()).digest()
    # The digits of base32 are replaced by letters: a number in a path means a member's position.
    text = base64.b32encode(digest).decode().lower()[:_NAME_LETTERS]
    return text.translate(str.maketrans("234567", "wxyzab"))


class AutoScalingGroup(Group, ScalableResource):
    """Members with generated names; the oldest is removed first."""

    description = "Makes resources by one definition; scaling policies change their number."
    example = """\
heat_template_version: 2021-04-16
resources:
  servers:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 4
      desired_capacity: 2
      cooldown: 60
      resource:
        type: OS::Heat::TestResource
        properties: {value: a server}
      rolling_updates:
        min_in_service: 1
        max_batch_size: 2
outputs:
  size:
    value: {get_attr: [servers, current_size]}
"""
    properties_schema = {
        "resource": mapping(
            f"What each member is: a map of {', '.join(SECTIONS)}.", required=True, update_allowed=True
        ),
        "min_size": integer(
            "The smallest number of members.", required=True, update_allowed=True, constraints=(Range(min=0),)
        ),
        "max_size": integer(
            "The largest number of members.", required=True, update_allowed=True, constraints=(Range(min=0),)
        ),
        "desired_capacity": integer(
            "The number of members after a create or an update, independent of earlier signals; without it, "
            "an update keeps the number, and a create makes min_size.",
            update_allowed=True,
        ),
        "cooldown": number(
            "Seconds after a change of the size by any policy during which signals are ignored.",
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "rolling_updates": mapping(
            "How members are changed in batches when resource changes; without it, all at once.",
            update_allowed=True,
            schema=ROLLING_UPDATE_SCHEMA,
        ),
    }
    attributes_schema = {
        **REFERENCES,
        "outputs": Attribute(
            "With the path of an attribute of the members: its values, by the members' names.",
            PropertyType.MAP,
        ),
        "outputs_list": Attribute(
            "With the path of an attribute of the members: its values, oldest member first.",
            PropertyType.LIST,
        ),
        "current_size": Attribute("The number of members.", PropertyType.INTEGER),
    }
    maps = frozenset({"outputs"})
    lists = frozenset({"outputs_list"})

    @classmethod
    def blueprint(cls, name: str, properties: Mapping[str, Any]) -> Blueprint | None:
        """Return one member, and the initial number of members; None if there may never be any."""
        definition, sizes = properties["resource"], [properties["desired_capacity"], properties["min_size"]]
        size = next((each for each in sizes if each is not None), 0)
        if properties["max_size"] == 0 or not is_known(definition) or not definition.get("type"):
            return None
        return Blueprint(
            child=Child(
                template=template_of({"member": written_out(definition)}), file=f"{name} (its members)"
            ),
            times=1 if size is UNKNOWN else max(1, size),
            place=("resource",),
        )

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check the sizes against each other, and the sections of the definition.

        Raises:
            PropertyError: with the path of the wrong property.
        """
        low, high, desired = (properties[name] for name in ("min_size", "max_size", "desired_capacity"))
        if not is_unknown([low, high]) and low > high:
            raise PropertyError(("min_size",), "it is more than max_size")
        if desired is not None and not is_unknown([low, high, desired]) and not low <= desired <= high:
            raise PropertyError(("desired_capacity",), "it is not from min_size to max_size")
        definition = properties["resource"]
        if not isinstance(definition, Mapping):
            return
        for section in definition:
            if section not in SECTIONS:
                hint = Nearest().hint(str(section), SECTIONS, f"there are: {', '.join(SECTIONS)}")
                raise PropertyError(
                    ("resource", section), f"a definition has no section {str(section)!r}", hint
                )
        type_name = definition.get("type")
        if type_name is not UNKNOWN and not (isinstance(type_name, str) and type_name):
            raise PropertyError(("resource", "type"), "expected the type of the members")

    def definition(self) -> dict[str, Any]:
        """Return the definition of a member."""
        return written_out(self.properties["resource"])

    def size(self, roster: Roster) -> int:
        """Return the desired capacity; if it is not given, the present target size."""
        desired = self.properties["desired_capacity"]
        if desired is None:
            desired = self.properties["min_size"] if roster.size is None else roster.size
        return self.within_bounds(desired)

    def within_bounds(self, size: int) -> int:
        """Return the nearest allowed size."""
        return int(max(self.properties["min_size"], min(size, self.properties["max_size"])))

    def goal(self, roster: Roster, present: Sequence[Present], size: int) -> Sequence[str]:
        """Return the members that stay, and the names of missing ones.

        Members with the new definition are kept first, then those in service, then young ones.
        """
        youngest_first = reversed(present)
        best = sorted(youngest_first, key=lambda each: (not each.is_current, not each.is_serving))
        stay = {each.name for each in best[:size]}
        fresh = self.fresh(roster)
        made = [next(fresh) for _ in range(size - len(stay))]
        return (*(each.name for each in present if each.name in stay), *made)

    def fresh(self, roster: Roster) -> Iterator[str]:
        """Yield names that no member of this group ever had."""
        return (member_name(self.state.uuid, number) for number in count(roster.made))

    def adopted(self, roster: Roster, names: Sequence[str]) -> Sequence[str]:
        """Return those that are on record or exist: members may have any names."""
        return tuple(roster.members) or names or super().adopted(roster, names)

    def batching(self, *, creating: bool) -> Batching:
        """Return the batching of ``rolling_updates``; the first members are made all at once."""
        return batching_of(None if creating else self.properties["rolling_updates"])

    def current_size(self) -> int:
        """Return the target number of members."""
        return self.roster.size or 0

    def cooldown_left(self) -> float:
        """Return the seconds until a policy may change the size again."""
        at = self.state.data.get(_SCALED_AT)
        return 0.0 if at is None else float(max(0.0, at + (self.properties["cooldown"] or 0) - self.now))

    def is_as_asked(self) -> bool:
        """Return whether the stack has exactly its target members."""
        present_names = {member.name for member in self.stacks.members() if member.action != "DELETE"}
        return present_names == set(self.roster.members)

    def resize(self, size: int) -> None:
        """Record a new target size; all changes are made at once."""
        roster = replace(self.roster, size=size)
        following = self.following(roster, creating=False, serving=roster.members)
        self.state.data = {
            **self.state.data,
            ROSTER: (following or roster).to_data(),
            _SCALED_AT: self.now,
        }

    def named(self, path: AttributePath) -> AttributePath:
        """Return a path with a member's position, oldest first, replaced by its name."""
        within, names = member_path(path), self.names()
        if within is None or not str(within[0]).isdecimal() or int(within[0]) >= len(names):
            return path
        return (f"resource.{names[int(within[0])]}", *within[1:])

    def own_attribute(self, name: str) -> object:
        """Return the number of members, or an attribute of every group."""
        return len(self.members()) if name == "current_size" else super().own_attribute(name)
