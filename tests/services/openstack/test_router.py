"""``OS::Neutron::Router`` and what belongs to one, on a real network service."""

from collections.abc import Collection

import pytest

from tests.services.openstack.cloud import NOTHING_CHANGES, CloudConformance
from tests.services.openstack.outside import OUTSIDE, Inside, inside, outside
from workers.resources.openstack.neutron.extra_routes import ExtraRoute, ExtraRouteSet
from workers.resources.openstack.neutron.router import Router
from workers.resources.openstack.neutron.router_gateway import RouterGateway
from workers.resources.openstack.neutron.router_interface import RouterInterface

__all__ = ["inside", "outside"]


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
    is_shown = False
    cannot = {"updated": NOTHING_CHANGES}

    @pytest.fixture(autouse=True)
    def _inside(self, inside: Inside) -> None:
        self.properties = {"router": inside.router, "subnet": inside.subnets[1]}

    def objects(self) -> Collection[str]:
        """Return the ids of the interfaces of the project's routers."""
        ports = self.service().get("/ports", params={"device_owner": "network:router_interface"}).json()
        return [str(port["id"]) for port in ports["ports"]]

    def test_one_that_is_there_already_is_left_alone(self, inside: Inside) -> None:
        with self._engine() as engine:
            before = self._there()
            self.properties = {"router": inside.router, "subnet": inside.subnets[0]}
            made = engine.create("s", self._template())
            assert made is not None
            assert "connected there already" in made.reason
            assert engine.delete("s") is None
            assert self._there() == before


@pytest.mark.usefixtures("outside")
class TestRouterGateway(CloudConformance):
    type = RouterGateway
    is_shown = False
    cannot = {"updated": NOTHING_CHANGES}
    others = {"router": {"type": "OS::Neutron::Router"}}
    properties = {"router_id": {"get_resource": "router"}, "network": OUTSIDE}

    def objects(self) -> Collection[str]:
        """Return the ids of routers with gateways."""
        routers = self.service().get("/routers").json()["routers"]
        return [str(router["id"]) for router in routers if router["external_gateway_info"]]


class TestExtraRouteSet(CloudConformance):
    type = ExtraRouteSet
    is_shown = False

    @pytest.fixture(autouse=True)
    def _inside(self, inside: Inside) -> None:
        first, second = ({"destination": f"10.{net}.0.0/24", "nexthop": f"10.4.0.{net}"} for net in (8, 9))
        self.properties = {"router": inside.router, "routes": [first, second]}
        self.changes = {"routes": [second, {**first, "nexthop": "10.4.0.7"}]}

    def objects(self) -> Collection[str]:
        """Return the routes of all routers."""
        routers = self.service().get("/routers").json()["routers"]
        return [f"{router['id']}:{route}" for router in routers for route in router["routes"]]


class TestExtraRoute(TestExtraRouteSet):
    type = ExtraRoute
    cannot = {"updated": NOTHING_CHANGES}

    @pytest.fixture(autouse=True)
    def _inside(self, inside: Inside) -> None:
        self.properties = {"router_id": inside.router, "destination": "10.8.0.0/24", "nexthop": "10.4.0.8"}
        self.changes = {"nexthop": "10.4.0.7"}
