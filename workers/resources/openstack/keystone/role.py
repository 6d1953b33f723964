"""``OS::Keystone::Role``: a role."""

from dataclasses import replace

from workers.resources.openstack.keystone.keystone_object import (
    DOMAIN,
    KeystoneObject,
    keystone_collection,
    named,
)


class Role(KeystoneObject):
    """A role of the identity service."""

    description = "A role that users and groups can have in projects and domains."
    example = """\
heat_template_version: 2021-04-16
resources:
  auditor:
    type: OS::Keystone::Role
    properties: {name: auditor}
"""
    collection = keystone_collection("role")
    whole_list = {}
    entity = "role"
    longest_name = 255
    properties_schema = {
        "name": named("role"),
        "domain": replace(DOMAIN, update_allowed=False, description="The id or name of its domain."),
    }
