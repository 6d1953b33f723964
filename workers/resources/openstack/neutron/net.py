"""``OS::Neutron::Net``: a network."""

from workers.resources.openstack.neutron.neutron_object import VALUE_SPECS, NeutronObject, neutron_collection
from workers.resources.schemas import boolean, listing, live, text


class Net(NeutronObject):
    """A network of the network service."""

    description = "A network."
    example = """\
heat_template_version: 2021-04-16
resources:
  network:
    type: OS::Neutron::Net
    properties: {name: inside}
"""
    collection = neutron_collection("network")
    entity = "network"
    sent_as = {"qos_policy": "qos_policy_id", "dhcp_agent_ids": ""}
    properties_schema = {
        "name": text("Its name.", update_allowed=True),
        "value_specs": VALUE_SPECS,
        "admin_state_up": boolean("Whether it is up.", default=True, update_allowed=True),
        "shared": boolean("Whether all projects may use it.", default=False, update_allowed=True),
        "port_security_enabled": boolean("Whether its ports are secured by default.", update_allowed=True),
        "tags": listing("Its tags.", schema=text(), update_allowed=True),
    }
    attributes_schema = {
        "status": live("Its status."),
        "subnets": live("The ids of its subnets."),
    }
