"""``OS::Keystone::UserRoleAssignment`` and ``OS::Keystone::GroupRoleAssignment``: roles of what exists already."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.keystone.links import (
    ROLE_RULES,
    ROLES,
    Linked,
    refuse_wrong_roles,
    role_link,
)
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.only_one import OnlyOne
from workers.resources.schemas import text


class _RoleAssignment(Linked, OnlyOne):
    """Roles of a user or a group. There is no object besides the roles: its id is that of its row."""

    #: ``user`` or ``group``: the property, and the kind of entity, that has the roles.
    holder: ClassVar[str] = ""
    has_description = False

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Return that other objects may be given by their names."""
        return [looked_up(cls.holder, cls.holder), *ROLE_RULES] if cls.holder else []

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse roles that are for a project and a domain, or for neither."""
        refuse_wrong_roles(properties)

    def links(self, properties: Mapping[str, Any]) -> Iterator[str]:
        """Yield the addresses of the roles."""
        for role in properties["roles"] or ():
            yield role_link(f"{self.holder}s", properties[self.holder], role)

    @property
    def is_in_the_way(self) -> bool:
        """Whether its replacement gives one of the same roles."""
        return bool(self.remembered & set(self.links(self.properties)))

    def handle_create(self) -> None:
        """Take the row's id; the roles are given when they are remembered."""
        self.state.physical_id = self.state.uuid

    def found(self) -> None:
        """Return None: whatever was given may be given again."""

    def show(self) -> dict[str, Any] | None:
        """Return the roles that are there; None if all that should be are gone."""
        links = list(self.links(self.properties))
        there = [link for link in links if self.has_link(link)]
        return {"id": self.state.physical_id, "links": there} if there or not links else None

    def is_ready(self) -> bool:
        """Return that nothing is waited for."""
        return True

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name == "roles":
            holders, holder = f"{self.holder}s", self.properties[self.holder]
            return [
                each for each in self.properties[name] if role_link(holders, holder, each) in shown["links"]
            ]
        return super().seen(name, shown)

    def handle_delete(self) -> bool:
        """Take the roles away that it may have given; return that nothing is waited for."""
        for link in sorted(self.remembered):
            self.end_link(link)
        return False


class UserRoleAssignment(_RoleAssignment):
    """Roles of a user that exists already."""

    description = "Roles of a user."
    example = """\
heat_template_version: 2021-04-16
resources:
  user:
    type: OS::Keystone::User
  project:
    type: OS::Keystone::Project
  roles:
    type: OS::Keystone::UserRoleAssignment
    properties:
      user: {get_resource: user}
      roles:
      - {role: reader, project: {get_resource: project}}
"""
    holder = "user"
    linked_by = frozenset({"user", "roles"})
    sent_as = {"user": "", "roles": ""}
    properties_schema = {
        "user": text(
            "The id or name of the user.",
            required=True,
            update_allowed=True,
            constraints=(Custom("keystone.user"),),
        ),
        "roles": ROLES,
    }


class GroupRoleAssignment(_RoleAssignment):
    """Roles of a group that exists already."""

    description = "Roles of a group of users."
    example = """\
heat_template_version: 2021-04-16
resources:
  group:
    type: OS::Keystone::Group
  roles:
    type: OS::Keystone::GroupRoleAssignment
    properties:
      group: {get_resource: group}
      roles:
      - {role: reader, domain: default}
"""
    holder = "group"
    linked_by = frozenset({"group", "roles"})
    sent_as = {"group": "", "roles": ""}
    properties_schema = {
        "group": text(
            "The id or name of the group.",
            required=True,
            update_allowed=True,
            constraints=(Custom("keystone.group"),),
        ),
        "roles": ROLES,
    }
