"""``OS::Heat::ResourceGroup``: a number of numbered resources of one kind."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.plugins.constraints import AllowedValues, Length, Range
from orchestrator.plugins.properties import Attribute, PropertyError, PropertyType
from orchestrator.plugins.stack_resource import Blueprint, Child
from workers.resources.core.groups.batches import Batching, Present
from workers.resources.core.groups.group import Group
from workers.resources.core.groups.member_stack import REFERENCES
from workers.resources.core.groups.members import first_names, indexed, numbers, removed_names
from workers.resources.core.groups.roster import Roster, is_known, template_of, written_out
from workers.resources.core.groups.update_policies import (
    BATCH_CREATE_SCHEMA,
    ROLLING_UPDATE_SCHEMA,
    batching_of,
)
from workers.resources.schemas import integer, listing, mapping, text

_REMOVED: Final = "removed"


class ResourceGroup(Group):
    """Members called 0, 1, 2 and so on, made by one definition that may refer to the member's number."""

    description = "Makes a number of resources by one definition."
    example = """\
heat_template_version: 2021-04-16
resources:
  passwords:
    type: OS::Heat::ResourceGroup
    properties:
      count: 3
      resource_def:
        type: OS::Heat::RandomString
        properties:
          length: 16
          salt: member %index%
    update_policy:
      rolling_update:
        max_batch_size: 1
outputs:
  passwords:
    value: {get_attr: [passwords, value]}
"""
    properties_schema = {
        "count": integer(
            "The number of members.", default=1, update_allowed=True, constraints=(Range(min=0),)
        ),
        "index_var": text(
            "The placeholder of the member's name in texts of the properties of resource_def.",
            default="%index%",
            constraints=(Length(min=3),),
        ),
        "resource_def": mapping(
            "The definition of a member.",
            required=True,
            update_allowed=True,
            schema={
                "type": text("The type of the members.", required=True, constraints=(Length(min=1),)),
                "properties": mapping("Their properties."),
                "metadata": mapping("Their metadata."),
            },
        ),
        "removal_policies": listing(
            "The members that an update removes first.",
            default=[],
            update_allowed=True,
            schema=mapping(
                schema={
                    "resource_list": listing(
                        "Names or ids of members that are removed, and replaced if too few are left. A name is not "
                        "used again.",
                        default=[],
                    )
                }
            ),
        ),
        "removal_policies_mode": text(
            "With append, names that earlier updates removed stay unused; with update, only those in the "
            "present removal_policies.",
            default="append",
            update_allowed=True,
            constraints=(AllowedValues(("append", "update")),),
        ),
    }
    update_policy_schema = {
        "rolling_update": mapping(
            "Members are changed in batches; without it, all at once.", schema=ROLLING_UPDATE_SCHEMA
        ),
        "batch_create": mapping(
            "Members are made in batches; without it, all at once.", schema=BATCH_CREATE_SCHEMA
        ),
    }
    attributes_schema = {
        **REFERENCES,
        "attributes": Attribute(
            "With the path of an attribute of the members: its values, by the members' names.",
            PropertyType.MAP,
        ),
        "removed_rsrc_list": Attribute("The names that are no longer used.", PropertyType.LIST),
    }
    maps = frozenset({"attributes"})

    @classmethod
    def blueprint(cls, name: str, properties: Mapping[str, Any]) -> Blueprint | None:
        """Return one member, and the number of members; None if there will be none."""
        size, definition = properties["count"], properties["resource_def"]
        if size == 0 or not is_known(definition):
            return None
        variable = properties["index_var"]
        shown = written_out(definition)
        if variable is not UNKNOWN:
            shown = _expanded(shown, variable, "0")
        return Blueprint(
            child=Child(template=template_of({"0": shown}), file=f"{name} (its members)"),
            times=1 if size is UNKNOWN else size,
            place=("resource_def",),
        )

    @classmethod
    def names_wanted(cls, properties: Mapping[str, Any], data: Mapping[str, Any]) -> Collection[str]:
        """Return the numbers that are not reserved; none if it is not known how many there will be."""
        size, policies = properties.get("count"), properties.get("removal_policies") or []
        if not isinstance(size, int) or is_unknown(policies):
            return ()
        remembered = {} if properties.get("removal_policies_mode") == "update" else data.get(_REMOVED, {})
        entries = [entry for policy in policies for entry in policy["resource_list"]]
        return first_names(size, removed_names(entries, (), remembered))

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that the removal entries can match members.

        Raises:
            PropertyError: an entry is no name and no id.
        """
        policies = properties["removal_policies"]
        for index, policy in enumerate(policies if isinstance(policies, list) else ()):
            entries = policy["resource_list"] if isinstance(policy, Mapping) else ()
            for place, entry in enumerate(entries if isinstance(entries, list) else ()):
                if entry is not UNKNOWN and not isinstance(entry, (str, int)):
                    path = ("removal_policies", index, "resource_list", place)
                    raise PropertyError(path, "expected the name or an id of a member")

    def settle(self) -> None:
        """Record the names that are not reused."""
        entries = [
            entry for policy in self.properties["removal_policies"] for entry in policy["resource_list"]
        ]
        removed = removed_names(
            entries,
            self.stacks.members(),
            self.state.data.get(_REMOVED, {}),
            forget=self.properties["removal_policies_mode"] == "update",
        )
        self.state.data = {**self.state.data, _REMOVED: removed}

    def definition(self) -> dict[str, Any]:
        """Return the definition, with its index variable in it."""
        return written_out(self.properties["resource_def"])

    def size(self, roster: Roster) -> int:  # noqa: ARG002 (the contract's signature)
        """Return the count."""
        return int(self.properties["count"])

    def goal(self, roster: Roster, present: Sequence[Present], size: int) -> Sequence[str]:  # noqa: ARG002 (as above)
        """Return the first unreserved numbers."""
        return first_names(size, self.removed)

    def fresh(self, roster: Roster) -> Iterator[str]:  # noqa: ARG002 (the contract's signature)
        """Yield the unreserved numbers."""
        return numbers(self.removed)

    def batching(self, *, creating: bool) -> Batching:
        """Return the batching of the update policy."""
        return batching_of(self.update_policy.get("batch_create" if creating else "rolling_update"))

    def expanded(self, definition: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        """Return the definition with the member's name in its properties."""
        return _expanded(definition, self.properties["index_var"], name)

    @property
    def removed(self) -> Mapping[str, Sequence[str]]:
        """The names that are not reused, each with the ids by which the member was known."""
        removed: Mapping[str, Sequence[str]] = self.state.data.get(_REMOVED, {})
        return removed

    def names(self) -> Sequence[str]:
        """Return the names of the members, by number."""
        return sorted(self.roster.members, key=int)

    def own_attribute(self, name: str) -> object:
        """Return the names that are not reused, or an attribute of every group."""
        if name == "removed_rsrc_list":
            return sorted(self.removed, key=int)
        return super().own_attribute(name)


def _expanded(definition: Mapping[str, Any], variable: str, name: str) -> dict[str, Any]:
    properties = definition.get("properties", {})
    return written_out({**definition, "properties": indexed(properties, variable, name)})
