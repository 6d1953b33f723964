"""``OS::Keystone::Endpoint``: the address of a service."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.plugins.constraints import AllowedValues
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.keystone.keystone_object import (
    ENABLED,
    KeystoneObject,
    keystone_collection,
    named,
)
from workers.resources.openstack.lookups import looked_up
from workers.resources.schemas import text


class Endpoint(KeystoneObject):
    """An address of a service of the catalogue."""

    description = "The address of a service in a region."
    example = """\
heat_template_version: 2021-04-16
resources:
  shop:
    type: OS::Keystone::Service
    properties: {name: shop, type: web-shop}
  address:
    type: OS::Keystone::Endpoint
    properties:
      service: {get_resource: shop}
      interface: public
      url: https://shop.example.org/v1
"""
    collection = keystone_collection("endpoint")
    whole_list = {}
    longest_name = 255
    sent_as = {"region": "region_id", "service": "service_id"}
    properties_schema = {
        "name": named("endpoint"),
        "region": text(
            "The id of the region.", update_allowed=True, constraints=(Custom("keystone.region"),)
        ),
        "service": text(
            "The id or name of the service.",
            update_allowed=True,
            required=True,
            constraints=(Custom("keystone.service"),),
        ),
        "interface": text(
            "Who the address is for.",
            update_allowed=True,
            required=True,
            constraints=(AllowedValues(("public", "internal", "admin")),),
        ),
        "url": text("The address.", update_allowed=True, required=True),
        "enabled": ENABLED,
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Return that a service may be given by its name."""
        return [looked_up("service", "service"), looked_up("region", "region")]

    def searched(self) -> dict[str, Any]:
        """Return the query for the endpoints of its service."""
        return {"service_id": self.properties["service"]}
