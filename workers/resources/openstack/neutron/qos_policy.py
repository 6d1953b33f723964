"""``OS::Neutron::QoSPolicy``: a policy of the quality of service."""

from orchestrator.plugins.properties import PropertyType
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.neutron.neutron_object import NeutronObject
from workers.resources.schemas import boolean, live, text


class QoSPolicy(NeutronObject):
    """A policy of the quality of service, which ports and networks can have."""

    description = "A policy of the quality of service, for ports and networks."
    example = """\
heat_template_version: 2021-04-16
resources:
  slow:
    type: OS::Neutron::QoSPolicy
    properties: {name: slow}
"""
    collection = Collection(path="/qos/policies", key="policy", plural="policies")
    entity = "QoS policy"
    extensions = {"": "qos"}
    properties_schema = {
        "name": text("Its name.", update_allowed=True),
        "description": text("Its description.", update_allowed=True),
        "shared": boolean("Whether all projects may use it.", default=False, update_allowed=True),
        "tenant_id": text("The id of its project; only administrators may name another than their own."),
    }
    attributes_schema = {"rules": live("Its rules.", PropertyType.LIST)}
