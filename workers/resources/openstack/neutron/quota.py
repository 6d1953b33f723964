"""``OS::Neutron::Quota``: the limits of a project in the network service."""

from workers.resources.openstack.neutron.neutron_object import NeutronObject, neutron_collection
from workers.resources.openstack.project_quota import PROJECT, ProjectQuota, limit


class Quota(ProjectQuota, NeutronObject):
    """The limits of a project in the network service."""

    description = "The limits of a project in the network service, set by an administrator."
    example = """\
heat_template_version: 2021-04-16
resources:
  shop:
    type: OS::Keystone::Project
  limits:
    type: OS::Neutron::Quota
    properties:
      project: {get_resource: shop}
      network: 2
      router: 1
"""
    collection = neutron_collection("quota")
    extensions = {"": "quotas"}
    defaults = "default"
    properties_schema = {
        **PROJECT,
        "subnet": limit("The most subnets; -1 is no limit."),
        "network": limit("The most networks; -1 is no limit."),
        "floatingip": limit("The most floating IP addresses; -1 is no limit."),
        "security_group_rule": limit("The most rules of security groups; -1 is no limit."),
        "security_group": limit("The most security groups; -1 is no limit."),
        "router": limit("The most routers; -1 is no limit."),
        "port": limit("The most ports; -1 is no limit."),
        "subnetpool": limit("The most subnet pools; -1 is no limit."),
        "rbac_policy": limit("The most RBAC policies; -1 is no limit."),
    }
