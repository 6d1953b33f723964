"""``OS::Neutron::RouterGateway``: the gateway of a router, apart from it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.siblings import Sibling, Siblings
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.neutron_object import (
    neutron_collection,
    old_name,
    renamed,
)
from workers.resources.openstack.neutron.order import interfaces_of, subnets_of
from workers.resources.openstack.neutron.relation import Relation
from workers.resources.schemas import text

_NETWORK: Final = (Custom("neutron.network"),)
_GATEWAY: Final = "external_gateway_info"
_ADVICE: Final = "use external_gateway_info of OS::Neutron::Router"


class RouterGateway(Relation):
    """The external network of a router, which the network service shows with the router."""

    description = "The gateway of a router to an external network; new templates give it with the router."
    support_status = SupportStatus(
        status=Support.HIDDEN,
        version="5.0.0",
        message=_ADVICE,
        previous=SupportStatus(status=Support.DEPRECATED, version="2014.1", message=_ADVICE),
    )
    example = """\
heat_template_version: 2021-04-16
parameters:
  outside: {type: string, default: public}
resources:
  router:
    type: OS::Neutron::Router
  gateway:
    type: OS::Neutron::RouterGateway
    properties:
      router_id: {get_resource: router}
      network: {get_param: outside}
"""
    collection = neutron_collection("router")
    extensions = {"": "router"}
    properties_schema = {
        "router_id": text("The id of the router.", required=True, constraints=(Custom("neutron.router"),)),
        "network_id": old_name("network", constraints=_NETWORK),
        "network": text("The id or name of the external network.", constraints=_NETWORK),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003 (the contract)
        """Return the rules of the old name of the network, and of its name."""
        return (renamed("network_id", "network"), looked_up("network", "network"))

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that a network is given, under either name.

        Raises:
            PropertyError: none is.
        """
        if properties["network"] is None:
            raise PropertyError(("network",), "a value is required: expected a text, found nothing")

    @classmethod
    def implied_requirements(cls, own: Sibling, siblings: Siblings) -> Iterable[str]:
        """Return the interfaces of its router, and the subnets of its network, of which the router has its address."""
        yield from interfaces_of(own.properties.get("router_id"), siblings)
        yield from subnets_of(own.properties.get("network"), siblings)

    @property
    def relation_id(self) -> str:
        """The id that Heat uses: the router and the network."""
        return f"{self.properties['router_id']}:{self.properties['network']}"

    @property
    def object_id(self) -> str:
        """The router."""
        return str(self.state.physical_id or self.relation_id).partition(":")[0]

    def show(self) -> dict[str, Any] | None:
        """Return the router, if it has this gateway, read once per step; else None."""
        if self._shown is None:
            network = str(self.state.physical_id or self.relation_id).partition(":")[2]
            shown = self.read(self.object_id)
            has_it = shown and (shown[_GATEWAY] or {}).get("network_id") == network
            self._shown = (shown if has_it else None,)
        return self._shown[0]

    def refuse_what_is_there(self) -> None:
        """Refuse nothing: the router's own gateway may be the same."""

    def establish(self) -> None:
        """Give the router its gateway, in the place of any other."""
        if self.show() is None:
            gateway = {"network_id": self.properties["network"]}
            self.collection.change(self.service, self.properties["router_id"], {_GATEWAY: gateway})

    def dissolve(self) -> bool:
        """Take the gateway away, unless it leads elsewhere by now."""
        if (router := self.show()) is None:
            return False
        self.collection.change(self.service, str(router["id"]), {_GATEWAY: {}})
        return True

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        return shown["id"] if name == "router_id" else shown[_GATEWAY]["network_id"]
