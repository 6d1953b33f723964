"""What templates of networks do not say about order."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from orchestrator.plugins.properties import convert_properties
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.siblings import Sibling, Siblings, reference_to
from workers.resources.openstack.neutron.extra_routes import ExtraRoute, ExtraRouteSet
from workers.resources.openstack.neutron.floating_ip import FloatingIP
from workers.resources.openstack.neutron.floating_ip_association import FloatingIPAssociation
from workers.resources.openstack.neutron.port import Port
from workers.resources.openstack.neutron.router import Router
from workers.resources.openstack.neutron.router_gateway import RouterGateway
from workers.resources.openstack.neutron.router_interface import RouterInterface
from workers.resources.openstack.neutron.subnet import Subnet

ROUTE = {"destination": "10.8.0.0/24", "nexthop": "10.0.0.9"}
GATEWAY = {"network": "outside"}


def ref(name: str) -> str:
    return reference_to(name)


#: By name: the type, and the properties as the template gives them.
STACK: Mapping[str, tuple[type[Resource], Mapping[str, Any]]] = {
    "inside": (Subnet, {"network": ref("net"), "cidr": "10.0.0.0/24"}),
    "more": (Subnet, {"network": ref("net"), "cidr": "10.1.0.0/24"}),
    "elsewhere": (Subnet, {"network": ref("another"), "cidr": "10.2.0.0/24"}),
    "of_outside": (Subnet, {"network": "outside", "cidr": "203.0.113.0/24"}),
    "router": (Router, {"external_gateway_info": GATEWAY}),
    "own_router": (Router, {}),
    "gateway": (RouterGateway, {"router_id": ref("own_router"), **GATEWAY}),
    "to_inside": (RouterInterface, {"router": ref("router"), "subnet": ref("inside")}),
    "to_more": (RouterInterface, {"router": ref("own_router"), "subnet": ref("more")}),
    "to_elsewhere": (RouterInterface, {"router": ref("router"), "subnet": ref("elsewhere")}),
    "port": (Port, {"network": ref("net"), "fixed_ips": [{"subnet": ref("more")}]}),
    "any_port": (Port, {"network": ref("net")}),
    "address": (FloatingIP, {"floating_network": "outside", "port_id": ref("port")}),
    "any_address": (FloatingIP, {"floating_network": "nowhere", "port_id": ref("any_port")}),
    "free_address": (FloatingIP, {"floating_network": "outside"}),
    "association": (FloatingIPAssociation, {"floatingip_id": "x", "port_id": ref("port")}),
    "routes": (ExtraRouteSet, {"router": ref("router"), "routes": [ROUTE]}),
    "route": (ExtraRoute, {"router_id": ref("own_router"), **ROUTE}),
}


def siblings() -> Siblings:
    def of(kind: type[Resource], given: Mapping[str, Any]) -> Mapping[str, Any]:
        return convert_properties(kind.properties_schema, given, constraints=False)

    return Siblings(
        {
            name: Sibling(name, kind, lambda kind=kind, given=given: of(kind, given))  # type: ignore[misc]
            for name, (kind, given) in STACK.items()
        }
    )


def required_by(name: str, stack: Siblings) -> Iterable[str]:
    return STACK[name][0].implied_requirements(stack[name], stack)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("port", {"inside", "more"}),
        ("any_port", {"inside", "more"}),
        ("router", {"of_outside"}),
        ("own_router", set()),
        ("gateway", {"of_outside", "to_more"}),
        ("address", {"router", "gateway", "to_more"}),
        ("any_address", {"to_inside", "to_more"}),
        ("free_address", {"router", "gateway"}),
        ("association", {"to_more"}),
        ("routes", {"to_inside", "to_elsewhere"}),
        ("route", {"to_more", "gateway"}),
    ],
)
def test_what_is_needed_comes_first(name: str, expected: set[str]) -> None:
    assert set(required_by(name, siblings())) == expected


@pytest.mark.parametrize(
    "name", [name for name, (kind, _) in STACK.items() if kind.implements("implied_requirements")]
)
def test_wrong_properties_require_nothing(name: str) -> None:
    kind = STACK[name][0]
    wrong = Siblings({**siblings(), "it": Sibling("it", kind, dict)})
    assert list(kind.implied_requirements(wrong["it"], wrong)) == []
