"""``OS::Keystone::User``: a user, with roles and groups."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyType
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.cloud_object import UNSEEN
from workers.resources.openstack.keystone.keystone_object import (
    DESCRIPTION,
    DOMAIN,
    ENABLED,
    KeystoneObject,
    keystone_collection,
    named,
)
from workers.resources.openstack.keystone.links import (
    ROLE_RULES,
    ROLES,
    Linked,
    member_link,
    refuse_wrong_roles,
    role_link,
)
from workers.resources.openstack.lookups import looked_up
from workers.resources.schemas import listing, live, text


class User(Linked):
    """A user of the identity service; roles and groups that others gave it are left alone."""

    description = "A user, with roles and groups."
    example = """\
heat_template_version: 2021-04-16
parameters:
  password: {type: string, hidden: true, default: ""}
resources:
  project:
    type: OS::Keystone::Project
  clerk:
    type: OS::Keystone::User
    properties:
      password: {get_param: password}
      default_project: {get_resource: project}
      roles:
      - {role: member, project: {get_resource: project}}
"""
    collection = keystone_collection("user")
    entity = "user"
    longest_name = 255
    linked_by = frozenset({"roles", "groups"})
    sent_as = {
        **KeystoneObject.sent_as,
        "default_project": "default_project_id",
        "groups": "",
        "roles": "",
    }
    properties_schema = {
        "name": named("user"),
        "domain": DOMAIN,
        "description": DESCRIPTION,
        "enabled": ENABLED,
        "email": text("The address for mail.", update_allowed=True),
        "password": text("The password.", update_allowed=True, sensitive=True),
        "default_project": text(
            "The id or name of the project of a login that names none.",
            update_allowed=True,
            constraints=(Custom("keystone.project"),),
        ),
        "groups": listing(
            "The groups that it belongs to. Others that it belongs to besides are left alone.",
            schema=text("The id or name of a group.", constraints=(Custom("keystone.group"),)),
            update_allowed=True,
        ),
        "roles": ROLES,
    }
    attributes_schema = {
        "name": live("Its name.", PropertyType.STRING),
        "default_project_id": live("The id of its default project.", PropertyType.STRING),
        "domain_id": live("The id of its domain.", PropertyType.STRING),
        "enabled": live("Whether it may log in.", PropertyType.BOOLEAN),
        "password_expires_at": live("When its password expires.", PropertyType.STRING),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
        """Return that other objects may be given by their names."""
        others = looked_up("project", "default_project"), looked_up("group", "groups")
        return [*super().translation_rules(properties), *others, *ROLE_RULES]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse roles that are for a project and a domain, or for neither."""
        refuse_wrong_roles(properties)

    def links(self, properties: Mapping[str, Any]) -> Iterator[str]:
        """Yield the addresses of its roles and memberships."""
        for role in properties["roles"] or ():
            yield role_link("users", str(self.state.physical_id), role)
        for group in properties["groups"] or ():
            yield member_link(group, str(self.state.physical_id))

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        user = shown["id"]
        if name == "password":
            return UNSEEN
        if name == "roles":
            return [each for each in self.properties[name] if self.has_link(role_link("users", user, each))]
        if name == "groups":
            return [each for each in self.properties[name] if self.has_link(member_link(each, user))]
        return super().seen(name, shown)
