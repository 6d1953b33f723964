"""Whole networks on a real network service, from templates with the old names that Heat's users still write."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import yaml

from isotherm.testing.engine import Engine
from tests.services.openstack.cloud import CloudConformance
from tests.services.openstack.outside import OUTSIDE, outside

__all__ = ["outside"]
pytestmark = [*CloudConformance.pytestmark, pytest.mark.usefixtures("outside")]

TEMPLATE = f"""\
heat_template_version: 2021-04-16
resources:
  network: {{type: OS::Neutron::Net}}
  subnet:
    type: OS::Neutron::Subnet
    properties:
      network_id: {{get_resource: network}}
      ip_version: 4
      cidr: 10.0.3.0/24
      allocation_pools: [{{end: 10.0.3.150, start: 10.0.3.20}}]
  any_port: {{type: OS::Neutron::Port, properties: {{network_id: {{get_resource: network}}}}}}
  port:
    type: OS::Neutron::Port
    properties:
      network_id: {{get_resource: network}}
      device_id: d6b4d3a5-c700-476f-b609-1493dd9dadc0
      fixed_ips: [{{subnet_id: {{get_resource: subnet}}, ip_address: 10.0.3.21}}]
  router: {{type: OS::Neutron::Router}}
  gateway:
    type: OS::Neutron::RouterGateway
    properties: {{router_id: {{get_resource: router}}, network_id: {OUTSIDE}}}
  interface:
    type: OS::Neutron::RouterInterface
    properties: {{router_id: {{get_resource: router}}, subnet_id: {{get_resource: subnet}}}}
  address: {{type: OS::Neutron::FloatingIP, properties: {{floating_network_id: {OUTSIDE}}}}}
  direct:
    type: OS::Neutron::FloatingIP
    properties: {{floating_network: {OUTSIDE}, port_id: {{get_resource: any_port}}}}
  association:
    type: OS::Neutron::FloatingIPAssociation
    properties: {{floatingip_id: {{get_resource: address}}, port_id: {{get_resource: port}}}}
  routes:
    type: OS::Neutron::ExtraRouteSet
    properties:
      router: {{get_resource: router}}
      routes: [{{destination: 10.8.0.0/16, nexthop: 10.0.3.9}}]
outputs:
  address: {{value: {{get_attr: [address, floating_ip_address]}}}}
  fixed_ips: {{value: {{get_attr: [port, fixed_ips]}}}}
  mtu: {{value: {{get_attr: [port, network, mtu]}}}}
  subnet: {{value: {{get_attr: [port, subnets, 0, cidr]}}}}
"""


class Cloud(CloudConformance):
    """The settings of a test's cloud; no test of its own."""

    __test__ = False


@pytest.fixture
def engine() -> Iterator[Engine]:
    with closing(Engine({}, settings=Cloud().settings)) as engine:
        yield engine


def outputs(stack: Any) -> dict[str, Any]:
    return {each.key: each.value for each in stack.outputs}


def test_a_network_with_all_that_leads_out_of_it_is_made_changed_and_deleted(engine: Engine) -> None:
    made = engine.create("s", TEMPLATE)
    assert made is not None
    assert made.state == "CREATE_COMPLETE", made.reason
    found = outputs(made)
    assert [each["ip_address"] for each in found["fixed_ips"]] == ["10.0.3.21"]
    assert found["subnet"] == "10.0.3.0/24"
    assert found["address"].startswith("203.0.113.")
    checked = engine.operate("CHECK", "s")
    assert checked is not None
    assert checked.state == "CHECK_COMPLETE", checked.reason

    template = yaml.safe_load(
        TEMPLATE.replace("10.0.3.150", "10.0.3.99").replace("10.8.0.0/16", "10.9.0.0/16")
    )
    template["resources"]["association"]["properties"]["floatingip_id"] = {"get_resource": "direct"}
    del template["resources"]["direct"]["properties"]["port_id"]
    updated = engine.update("s", yaml.safe_dump(template))
    assert updated is not None
    assert updated.state == "UPDATE_COMPLETE", updated.reason
    assert outputs(updated) == found

    left = engine.delete("s")
    assert left is None, left.reason
