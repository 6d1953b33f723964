"""``OS::Neutron::ExtraRouteSet`` and ``OS::Neutron::ExtraRoute``: routes of a router beyond its own networks."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.siblings import Sibling, Siblings
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure
from orchestrator.plugins.support import Support, SupportStatus
from workers.resources.openstack.comparing import spelled_as_given
from workers.resources.openstack.neutron.neutron_object import neutron_collection
from workers.resources.openstack.neutron.order import interfaces_of, same
from workers.resources.openstack.neutron.relation import Relation
from workers.resources.openstack.neutron.router_gateway import RouterGateway
from workers.resources.openstack.neutron.subnet import ROUTE
from workers.resources.schemas import listing, mapping, text

#: Private data: every route that may be on the router by this row.
_ROUTES: Final = "routes"
_ROUTER: Final = (Custom("neutron.router"),)
Route = dict[str, str]


class ExtraRouteSet(Relation):
    """Routes of a router, which the network service shows with the router."""

    description = "Routes of a router beyond those to its own networks; several resources may share a router."
    example = """\
heat_template_version: 2021-04-16
parameters:
  router: {type: string}
resources:
  routes:
    type: OS::Neutron::ExtraRouteSet
    properties:
      router: {get_param: router}
      routes: [{destination: 10.8.0.0/16, nexthop: 10.0.0.9}]
"""
    collection = neutron_collection("router")
    extensions = {"": "extraroute-atomic"}
    properties_schema = {
        "router": text("The id of the router.", required=True, constraints=_ROUTER),
        "routes": listing(
            "The routes.", schema=mapping("A route.", schema=ROUTE), default=[], update_allowed=True
        ),
    }

    @classmethod
    def implied_requirements(cls, own: Sibling, siblings: Siblings) -> Iterable[str]:
        """Return the interfaces of its router, in whose subnets the next routers are."""
        return interfaces_of(own.properties.get("router"), siblings)

    @property
    def _router(self) -> str:
        return str(self.properties["router"])

    @property
    def _wanted(self) -> list[Route]:
        return [dict(route) for route in self.properties["routes"] or ()]

    @property
    def _kept(self) -> list[Route]:
        return list(self.state.data.get(_ROUTES) or ())

    @property
    def relation_id(self) -> str:
        """The id that Heat uses: that of the router."""
        return self._router

    @property
    def object_id(self) -> str:
        """The router."""
        return self._router

    def show(self) -> dict[str, Any] | None:
        """Return the router, if it has any of the routes, read once per step; else None."""
        if self._shown is None:
            shown = self.read(self._router)
            is_there = shown and (not self._wanted or any(self._of_this_row(shown)))
            self._shown = (shown if is_there else None,)
        return self._shown[0]

    def _of_this_row(self, shown: Mapping[str, Any]) -> list[Route]:
        """Return the router's routes that are this row's, spelled as they are given."""
        ours = [*self._kept, *self._wanted]
        return [route for route in spelled_as_given(ours, shown["routes"]) if route in ours]

    def refuse_what_is_there(self) -> None:
        """Refuse to be made if the router has one of the routes.

        Raises:
            ResourceFailure: it has, or does not exist.
        """
        self._refuse(self._wanted)
        self.state.data[_ROUTES] = self._wanted

    def _refuse(self, routes: list[Route]) -> None:
        shown = self.collection.show(self.service, self._router)
        if shown is None:
            raise ResourceFailure(f"the router {self._router} does not exist")
        there = spelled_as_given(routes, shown["routes"])
        if taken := [f"{each['destination']} by {each['nexthop']}" for each in routes if each in there]:
            raise ResourceFailure(
                f"the router has these routes already, not by this resource: {', '.join(taken)}"
            )

    def handle_update(self, changes: PropertyChanges) -> Any:  # noqa: ARG002 (the contract's signature)
        """Keep the old routes and the new ones, until the new ones are established.

        Raises:
            ResourceFailure: a new route is there already.
        """
        more = [route for route in self._wanted if route not in self._kept]
        self._refuse(more)
        self.state.data[_ROUTES] = [*self._kept, *more]

    def establish(self) -> None:
        """Take former routes of this row away, and add those that are wanted; what is there is fine."""
        former = [route for route in self._kept if route not in self._wanted]
        self._ask("remove_extraroutes", former)
        self._ask("add_extraroutes", self._wanted)
        self.state.data[_ROUTES] = self._wanted

    def dissolve(self) -> bool:
        """Take the routes of this row away."""
        return self._ask("remove_extraroutes", self._kept)

    def _ask(self, what: str, routes: list[Route]) -> bool:
        if routes:
            body = {"router": {"routes": routes}}
            self.service.ask("PUT", f"{self.collection.at(self._router_there)}/{what}", body=body)
        return bool(routes)

    @property
    def _router_there(self) -> str:
        """The id of the router on which the routes are."""
        return str(self.state.physical_id).partition(":")[0]

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        return self._of_this_row(shown) if name == "routes" else shown["id"]


class ExtraRoute(ExtraRouteSet):
    """One route of a router."""

    description = "A route of a router beyond those to its own networks."
    support_status = SupportStatus(
        status=Support.HIDDEN,
        message="use OS::Neutron::ExtraRouteSet",
    )
    example = """\
heat_template_version: 2021-04-16
parameters:
  router: {type: string}
resources:
  route:
    type: OS::Neutron::ExtraRoute
    properties:
      router_id: {get_param: router}
      destination: 10.8.0.0/16
      nexthop: 10.0.0.9
"""
    properties_schema = {
        "router_id": text("The id of the router.", required=True, constraints=_ROUTER),
        "destination": text("The network that it leads to.", required=True),
        "nexthop": text("The address of the next router.", required=True),
    }

    @classmethod
    def implied_requirements(cls, own: Sibling, siblings: Siblings) -> Iterable[str]:
        """Return the interfaces and the gateway of its router, in whose subnets the next router is."""
        router = own.properties.get("router_id")
        yield from interfaces_of(router, siblings)
        for gateway in siblings.of(RouterGateway):
            if same(router, gateway.properties.get("router_id")):
                yield gateway.name

    @property
    def _router(self) -> str:
        return str(self.properties["router_id"])

    @property
    def _wanted(self) -> list[Route]:
        return [{name: self.properties[name] for name in ROUTE}]

    @property
    def relation_id(self) -> str:
        """The id that Heat uses: the router and the route."""
        return ":".join([self._router, *self._wanted[0].values()])

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it: the route was found by it."""
        return shown["id"] if name == "router_id" else self.properties[name]
