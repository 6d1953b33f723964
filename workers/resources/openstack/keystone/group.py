"""``OS::Keystone::Group``: a group of users, with roles."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.plugins.translation import Rule
from workers.resources.openstack.keystone.keystone_object import (
    DESCRIPTION,
    DOMAIN,
    KeystoneObject,
    keystone_collection,
    named,
)
from workers.resources.openstack.keystone.links import (
    ROLE_RULES,
    ROLES,
    Linked,
    refuse_wrong_roles,
    role_link,
)


class Group(Linked):
    """A group of users of the identity service; roles that others gave it are left alone."""

    description = "A group of users, with the roles that all of them have."
    example = """\
heat_template_version: 2021-04-16
resources:
  project:
    type: OS::Keystone::Project
  readers:
    type: OS::Keystone::Group
    properties:
      roles:
      - {role: reader, project: {get_resource: project}}
"""
    collection = keystone_collection("group")
    entity = "group"
    sent_as = {**KeystoneObject.sent_as, "roles": ""}
    properties_schema = {
        "name": named("group"),
        "domain": DOMAIN,
        "description": DESCRIPTION,
        "roles": ROLES,
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
        """Return that other objects may be given by their names."""
        return [*super().translation_rules(properties), *ROLE_RULES]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse roles that are for a project and a domain, or for neither."""
        refuse_wrong_roles(properties)

    def links(self, properties: Mapping[str, Any]) -> Iterator[str]:
        """Yield the addresses of its roles."""
        for role in properties["roles"] or ():
            yield role_link("groups", str(self.state.physical_id), role)

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name == "roles":
            roles = self.properties[name]
            return [each for each in roles if self.has_link(role_link("groups", shown["id"], each))]
        return super().seen(name, shown)
