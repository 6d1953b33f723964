"""``OS::Keystone::Project``: a project."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyType
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.keystone.keystone_object import (
    DESCRIPTION,
    DOMAIN,
    ENABLED,
    KeystoneObject,
    keystone_collection,
    named,
)
from workers.resources.openstack.lookups import looked_up
from workers.resources.schemas import listing, live, text


class Project(KeystoneObject):
    """A project of the identity service."""

    description = "A project, which owns what is made in a cloud."
    example = """\
heat_template_version: 2021-04-16
resources:
  shop:
    type: OS::Keystone::Project
    properties: {name: shop, description: the web shop}
"""
    collection = keystone_collection("project")
    entity = "project"
    sent_as = {**KeystoneObject.sent_as, "parent": "parent_id"}
    properties_schema = {
        "name": named("project"),
        "domain": DOMAIN,
        "description": DESCRIPTION,
        "enabled": ENABLED,
        "parent": text("The id or name of the project above it.", constraints=(Custom("keystone.project"),)),
        "tags": listing("Its tags.", default=[], update_allowed=True),
    }
    attributes_schema = {
        "name": live("Its name.", PropertyType.STRING),
        "parent_id": live("The id of the project, or of the domain, above it.", PropertyType.STRING),
        "domain_id": live("The id of its domain.", PropertyType.STRING),
        "enabled": live("Whether it may be used.", PropertyType.BOOLEAN),
        "is_domain": live("Whether it is a domain as well.", PropertyType.BOOLEAN),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
        """Return that other objects may be given by their names."""
        return [*super().translation_rules(properties), looked_up("project", "parent")]
