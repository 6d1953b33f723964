"""``OS::Keystone::Service``: an entry of the catalogue of services."""

from workers.resources.openstack.keystone.keystone_object import (
    ENABLED,
    KeystoneObject,
    keystone_collection,
    named,
)
from workers.resources.schemas import text


class Service(KeystoneObject):
    """A service of the catalogue."""

    description = "A service of the catalogue, in which clients look for addresses."
    example = """\
heat_template_version: 2021-04-16
resources:
  shop:
    type: OS::Keystone::Service
    properties: {name: shop, type: web-shop}
"""
    collection = keystone_collection("service")
    whole_list = {}
    entity = "service"
    longest_name = 255
    properties_schema = {
        "name": named("service"),
        "description": text("Its description.", update_allowed=True),
        "type": text("Its type, such as `compute`.", update_allowed=True, required=True),
        "enabled": ENABLED,
    }
