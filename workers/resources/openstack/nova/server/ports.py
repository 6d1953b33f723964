"""The ports of a server: those that are made for its networks, and its cards."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.plugins.client_plugin import ClientPlugin
from workers.clients.openstack import OpenStack
from workers.resources.openstack.neutron.neutron_object import neutron_collection
from workers.resources.openstack.nova.server.networks import Given, fitting, needs_port, wanted
from workers.resources.openstack.tokens import with_token

_PORTS: Final = neutron_collection("port")
#: The first version with tags of cards that are attached; of a server without networks in its request it expects one
#: word for all of them.
_TAGS_SINCE: Final = "2.49"
#: Statuses in which the compute service detaches cards.
_DETACHABLE: Final = frozenset({"ACTIVE", "PAUSED", "SHUTOFF"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports of one server."""

    nova: OpenStack
    neutron: OpenStack
    #: The client that finds security groups by name.
    names: ClientPlugin
    #: The token by which ports that were made for the server are found, and how they are called.
    token: str
    name: str
    security_groups: Sequence[str] = ()

    # -- ports that are made here ------------------------------------------------------------------------------

    def own(self) -> list[dict[str, Any]]:
        """Return the ports that were made here for the server."""
        return _PORTS.listed(self.neutron, description=with_token(None, self.token))

    def requested(self, networks: Sequence[Given] | None) -> str | list[dict[str, Any]]:
        """Return the networks as a create requests them; ports are made where they are needed, once."""
        if not networks:
            return "auto" if self._has_network() else "none"
        if words := [each["allocate_network"] for each in networks if each.get("allocate_network")]:
            return str(words[0])
        ports = self._ports_for(networks)
        return [_request(each, ports.get(number)) for number, each in enumerate(networks)]

    def _has_network(self) -> bool:
        project = self.neutron.proxy().get_project_id()
        own = {"tenant_id": project, "limit": 1, "fields": "id"}
        shared = {"shared": True, "limit": 1, "fields": "id"}
        return any(self.neutron.ask("GET", "/networks", query=each)["networks"] for each in (own, shared))

    def _ports_for(self, networks: Sequence[Given]) -> dict[int, str]:
        """Return the port of each network that has one, by its place; those that are missing are made."""
        ports = {number: str(each["port"]) for number, each in enumerate(networks) if each.get("port")}
        needing = {number: each for number, each in enumerate(networks) if needs_port(each)}
        if needing:
            free = [_as_card(each) for each in self.own() if not each["device_id"]]
            found = fitting(list(needing.values()), free)
            for place, number in enumerate(needing):
                card = found.get(place)
                ports[number] = str(card["port_id"]) if card else self._make(number, needing[number])
        for number, port in ports.items():
            self._associate(networks[number], port)
        return ports

    def _make(self, number: int, network: Given) -> str:
        subnet, address = network.get("subnet"), network.get("fixed_ip")
        network_id = (
            network.get("network") or (self.neutron.ask("GET", f"/subnets/{subnet}")["subnet"]["network_id"])
        )
        body: dict[str, Any] = {"network_id": network_id, "name": f"{self.name}-port-{number}"}
        body["description"] = with_token(None, self.token)
        fixed = {
            **({"subnet_id": subnet} if subnet else {}),
            **({"ip_address": address} if address else {}),
        }
        body |= {"fixed_ips": [fixed]} if fixed else {}
        if self.security_groups:
            body["security_groups"] = [
                self.names.find("security group", each, use_cache=True) for each in self.security_groups
            ]
        return str(_PORTS.create(self.neutron, {**body, **_extra(network)})["id"])

    def _associate(self, network: Given, port: str) -> None:
        if floating_ip := network.get("floating_ip"):
            address = {"fixed_ip_address": network["fixed_ip"]} if network.get("fixed_ip") else {}
            self._give(str(floating_ip), {"port_id": port, **address})

    def _give(self, floating_ip: str, body: Given) -> None:
        self.neutron.ask("PUT", f"/floatingips/{floating_ip}", body={"floatingip": dict(body)})

    def disassociate(self, floating_ips: Sequence[str]) -> None:
        """Take floating IPs off their ports, as far as they exist."""
        for each in floating_ips:
            try:
                self._give(each, {"port_id": None})
            except Exception as error:
                if not self.neutron.is_not_found(error):
                    raise

    def delete_own(self, *, but: Sequence[str] = ()) -> None:
        """Delete the ports that were made here, except some."""
        for port in self.own():
            if port["id"] not in but:
                _PORTS.delete(self.neutron, port["id"])

    # -- cards -------------------------------------------------------------------------------------------------

    def cards(self, server: str) -> list[dict[str, Any]]:
        """Return the cards of a server, with their ports and addresses; none if it does not exist."""
        try:
            answer = self.nova.ask("GET", f"/servers/{server}/os-interface")
        except Exception as error:
            if self.nova.is_not_found(error):
                return []
            raise
        return list(answer["interfaceAttachments"])

    def attach(self, server: str, number: int, network: Given) -> None:
        """Attach one network to a server."""
        ports = self._ports_for([*([{}] * number), network])
        request = _request(network, ports.get(number))
        body: dict[str, Any] = {}
        if "port" in request:
            body["port_id"] = request["port"]
        elif "uuid" in request:
            body["net_id"] = request["uuid"]
            if "fixed_ip" in request:
                body["fixed_ips"] = [{"ip_address": request["fixed_ip"]}]
        if "tag" in request:
            body["tag"] = request["tag"]
        path = f"/servers/{server}/os-interface"
        self.nova.ask("POST", path, body={"interfaceAttachment": body}, microversion=_TAGS_SINCE)

    def detach(self, server: str, port: str) -> None:
        """Begin to detach a port from a server; that it is detached already is no error."""
        try:
            self.nova.ask("DELETE", f"/servers/{server}/os-interface/{port}")
        except Exception as error:
            if not self.nova.is_not_found(error):
                raise

    def detach_all(self, shown: Given) -> bool:
        """Begin to detach all ports of a server; return whether none is left."""
        server = str(shown["id"])
        if shown["status"] not in _DETACHABLE:
            return self._unbind_all(server)
        cards = self.cards(server)
        for card in cards:
            self.detach(server, card["port_id"])
        return not cards

    def _unbind_all(self, server: str) -> bool:
        """Take the ports from a server that the compute service cannot detach them from."""
        for port in _PORTS.listed(self.neutron, device_id=server):
            _PORTS.change(self.neutron, port["id"], {"device_id": "", "device_owner": ""})
        return True

    def lacking(self, server: str, networks: Sequence[Given] | None, let_go: Sequence[str]) -> "Difference":
        """Return how the cards of a server differ from its networks; ``let_go`` are ports that must not stay."""
        cards, specs = self.cards(server), wanted(networks)
        found = fitting(specs, [each for each in cards if each["port_id"] not in let_go])
        used = [each["port_id"] for each in found.values()]
        surplus = [each["port_id"] for each in cards if each["port_id"] not in used]
        missing = {number: each for number, each in enumerate(specs) if number not in found}
        return Difference(surplus=surplus, missing=missing, used=used)


@dataclass(frozen=True, slots=True)
class Difference:
    """How the cards of a server differ from its networks."""

    #: The ports of cards that are to be detached.
    surplus: list[str]
    #: The networks that have no card, by their places.
    missing: Mapping[int, Given]
    #: The ports of the cards that stay.
    used: list[str]


def cards_of_all(neutron: OpenStack, servers: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the cards of servers, as far as the user may see their ports, by one list."""
    cards: dict[str, list[dict[str, Any]]] = {server: [] for server in servers}
    for port in _PORTS.listed(neutron, device_id=sorted(cards)):
        cards[port["device_id"]].append(_as_card(port))
    return cards


def _as_card(port: Given) -> dict[str, Any]:
    return {"port_id": port["id"], "net_id": port["network_id"], "fixed_ips": port["fixed_ips"]}


def _request(network: Given, port: str | None) -> dict[str, Any]:
    tag = {"tag": network["tag"]} if network.get("tag") else {}
    if port:
        return {"port": port, **tag}
    given = {"uuid": network.get("network"), "fixed_ip": network.get("fixed_ip")}
    return {**{name: value for name, value in given.items() if value}, **tag}


def _extra(network: Given) -> dict[str, Any]:
    given = network.get("port_extra_properties") or {}
    extra = {name: value for name, value in given.items() if value is not None}
    further = extra.pop("value_specs", None) or {}
    if extra.pop("no_fixed_ips", False):
        extra["fixed_ips"] = []
    if qos_policy := extra.pop("qos_policy", None):
        extra["qos_policy_id"] = qos_policy
    if pairs := extra.get("allowed_address_pairs"):
        extra["allowed_address_pairs"] = [
            {name: value for name, value in pair.items() if value is not None} for pair in pairs
        ]
    return {**extra, **further}
