"""``OS::Neutron::Router`` and what belongs to one, on a real network service."""

from collections.abc import Collection

import pytest

from tests.services.openstack.cloud import CloudConformance
from tests.services.openstack.outside import INTERFACE, NET, OUTSIDE, SUBNET, outside
from workers.resources.openstack.neutron.extra_routes import ExtraRoute, ExtraRouteSet
from workers.resources.openstack.neutron.router import Router
from workers.resources.openstack.neutron.router_gateway import RouterGateway
from workers.resources.openstack.neutron.router_interface import RouterInterface

__all__ = ["outside"]
PLAIN_ROUTER = {"type": "OS::Neutron::Router"}
OTHER_SUBNET = {
    "type": "OS::Neutron::Subnet",
    "properties": {"network": {"get_resource": "net"}, "cidr": "10.5.0.0/24"},
}


@pytest.mark.usefixtures("outside")
class TestRouter(CloudConformance):
    type = Router
    properties = {"name": "a", "tags": ["x"]}
    changes = {
        "admin_state_up": False,
        "external_gateway_info": {"network": OUTSIDE},
        "tags": [],
    }


class TestRouterInterface(CloudConformance):
    type = RouterInterface
    others = {"net": NET, "subnet": SUBNET, "other": OTHER_SUBNET, "router": PLAIN_ROUTER}
    properties = INTERFACE["properties"]
    changes = {"subnet": {"get_resource": "other"}}

    def objects(self) -> Collection[str]:
        """Return the ids of the interfaces of the project's routers."""
        ports = self.service().get("/ports", params={"device_owner": "network:router_interface"}).json()
        return [str(port["id"]) for port in ports["ports"]]


@pytest.mark.usefixtures("outside")
class TestRouterGateway(CloudConformance):
    type = RouterGateway
    others = {"router": PLAIN_ROUTER}
    properties = {"router_id": {"get_resource": "router"}, "network": OUTSIDE}

    def objects(self) -> Collection[str]:
        """Return the ids of routers with gateways."""
        routers = self.service().get("/routers").json()["routers"]
        return [str(router["id"]) for router in routers if router["external_gateway_info"]]


class TestExtraRouteSet(CloudConformance):
    type = ExtraRouteSet
    others = {"net": NET, "subnet": SUBNET, "router": PLAIN_ROUTER, "interface": INTERFACE}
    properties = {
        "router": {"get_resource": "router"},
        "routes": [
            {"destination": "10.8.0.0/24", "nexthop": "10.4.0.8"},
            {"destination": "10.9.0.0/24", "nexthop": "10.4.0.9"},
        ],
    }
    changes = {
        "routes": [
            {"destination": "10.9.0.0/24", "nexthop": "10.4.0.9"},
            {"destination": "10.8.0.0/24", "nexthop": "10.4.0.7"},
        ]
    }

    def objects(self) -> Collection[str]:
        """Return the routes of all routers."""
        routers = self.service().get("/routers").json()["routers"]
        return [f"{router['id']}:{route}" for router in routers for route in router["routes"]]


class TestExtraRoute(TestExtraRouteSet):
    type = ExtraRoute
    properties = {
        "router_id": {"get_resource": "router"},
        "destination": "10.8.0.0/24",
        "nexthop": "10.4.0.8",
    }
    changes = {"nexthop": "10.4.0.7"}
