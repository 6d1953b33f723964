"""``OS::Neutron::RouterInterface``: the connection of a router to a subnet."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import ResourceFailure
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.neutron_object import (
    neutron_collection,
    old_name,
    renamed,
)
from workers.resources.openstack.neutron.relation import Relation
from workers.resources.schemas import text

_ROUTER: Final = (Custom("neutron.router"),)
_SUBNET: Final = (Custom("neutron.subnet"),)
_PORT: Final = (Custom("neutron.port"),)
#: The owners of ports that are a router's interfaces: ordinary, of a distributed and of a highly available router.
_INTERFACES: Final = frozenset(
    {
        "network:router_interface",
        "network:router_interface_distributed",
        "network:ha_router_replicated_interface",
    }
)


class RouterInterface(Relation):
    """An interface of a router, which the network service shows as a port."""

    description = "The connection of a router to a subnet, or to a port."
    example = """\
heat_template_version: 2021-04-16
resources:
  network:
    type: OS::Neutron::Net
  subnet:
    type: OS::Neutron::Subnet
    properties:
      network: {get_resource: network}
      cidr: 10.0.0.0/24
  router:
    type: OS::Neutron::Router
  interface:
    type: OS::Neutron::RouterInterface
    properties:
      router: {get_resource: router}
      subnet: {get_resource: subnet}
"""
    collection = neutron_collection("port")
    extensions = {"": "router"}
    properties_schema = {
        "router": text("The id or name of the router.", required=True, constraints=_ROUTER),
        "router_id": old_name("router", constraints=_ROUTER),
        "subnet_id": old_name("subnet", constraints=_SUBNET),
        "subnet": text(
            "The id or name of the subnet, of which the router takes the gateway's address; either this or `port` "
            "is required.",
            constraints=_SUBNET,
        ),
        "port_id": old_name("port", constraints=_PORT),
        "port": text(
            "The id or name of a port, whose address the router takes. It is deleted with this connection.",
            constraints=_PORT,
        ),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003 (the contract)
        """Return the rules of old names, and of names."""
        names = ("router", "subnet", "port")
        return (
            *(renamed(f"{name}_id", name) for name in names),
            *(looked_up(name, name) for name in names),
        )

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that it leads to one thing.

        Raises:
            PropertyError: it does not.
        """
        ends = [properties["subnet"], properties["port"]]
        if UNKNOWN in ends:
            return
        if None not in ends:
            raise PropertyError(("port",), "it cannot be given together with subnet")
        if ends == [None, None]:
            raise PropertyError(("subnet",), "either this or port is required")

    @property
    def relation_id(self) -> str:
        """The id that Heat uses: the router, and what it leads to."""
        ((key, value),) = self._end.items()
        return f"{self.properties['router']}:{key}={value}"

    @property
    def is_in_the_way(self) -> bool:
        """Whether its replacement leads to the same subnet or port, be it from another router."""
        (end,) = self._end.values()
        return str(self.state.physical_id).rpartition("=")[2] == end

    @property
    def _end(self) -> dict[str, str]:
        """What it leads to, as the body of a request."""
        if self.properties["subnet"]:
            return {"subnet_id": self.properties["subnet"]}
        return {"port_id": self.properties["port"]}

    @property
    def object_id(self) -> str:
        """The port, where one is given; the port to a subnet is found by the router."""
        return str(self.properties["port"] or "")

    def show(self) -> dict[str, Any] | None:
        """Return the port that is the interface, read once per step; None if there is none."""
        if self._shown is None:
            self._shown = (self._interface(),)
        return self._shown[0]

    def _interface(self) -> dict[str, Any] | None:
        router, end = self.properties["router"], self._end
        if "port_id" in end:
            port = self.read(end["port_id"])
            return port if port and port["device_id"] == router else None
        query = {"device_id": router, "fixed_ips": f"subnet_id={end['subnet_id']}"}
        ports = self.collection.listed(self.service, **query)
        return next((port for port in ports if port["device_owner"] in _INTERFACES), None)

    def refuse_what_is_there(self) -> None:
        """Refuse to be made if the router has this interface.

        Raises:
            ResourceFailure: it has.
        """
        if self.show() is not None:
            raise ResourceFailure("the router is connected there already, not by this resource")

    def establish(self) -> None:
        """Connect the router, unless it is connected."""
        if self.show() is None:
            self._ask("add_router_interface", self.properties["router"], self._end)

    def dissolve(self) -> bool:
        """Disconnect the router from what it was connected to, by the physical id."""
        router, _, end = str(self.state.physical_id).partition(":")
        key, _, value = end.rpartition("=")
        self._ask("remove_router_interface", router, {key or "subnet_id": value})
        return True

    def _ask(self, what: str, router: str, body: Mapping[str, str]) -> None:
        self.service.ask("PUT", f"/routers/{router}/{what}", body=dict(body))

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name == "router":
            return shown["device_id"]
        # The port was found by it.
        return self.properties[name]
