"""The networks of a server: the rules for them, what a create requests, and which cards fit them."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from orchestrator.definition import is_unknown
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.siblings import Sibling, Siblings
from workers.resources.openstack.neutron.subnet import Subnet

Given = Mapping[str, Any]
#: What a server without any networks in its properties has: the service's choice.
AUTO: Final[Given] = {"allocate_network": "auto"}
#: What a port is chosen by, the narrowest first.
_NARROWEST: Final = ("port", "fixed_ip", "subnet", "network")


def wanted(networks: Sequence[Given] | None) -> list[Given]:
    """Return the networks that a server is to have, of the properties' networks."""
    if not networks:
        return [AUTO]
    return [each for each in networks if each.get("allocate_network") != "none"]


def needs_port(network: Given) -> bool:
    """Return whether a port must be made for a network: the compute service makes simple ones only."""
    return not network.get("port") and bool(network.get("subnet") or network.get("port_extra_properties"))


def fitting(networks: Sequence[Given], cards: Sequence[Given]) -> dict[int, Given]:
    """Return the card of each network that has one, by the network's place; no card serves two."""
    order = sorted(range(len(networks)), key=lambda number: _rank(networks[number]))
    rest, found = list(cards), {}
    for number in order:
        card = next((each for each in rest if _fits(networks[number], each)), None)
        if card is not None:
            rest.remove(card)
            found[number] = card
    return found


def _rank(network: Given) -> int:
    return next((place for place, name in enumerate(_NARROWEST) if network.get(name)), len(_NARROWEST))


def _fits(network: Given, card: Given) -> bool:
    if network.get("port"):
        return bool(card["port_id"] == network["port"])
    if network.get("network") and card["net_id"] != network["network"]:
        return False
    addresses = card["fixed_ips"] or ()
    if network.get("fixed_ip") and not any(
        _same(each["ip_address"], network["fixed_ip"]) for each in addresses
    ):
        return False
    return not network.get("subnet") or any(each["subnet_id"] == network["subnet"] for each in addresses)


def _same(one: str, other: str) -> bool:
    return ipaddress.ip_address(one) == ipaddress.ip_address(other)


def observed(networks: Sequence[Given], cards: Sequence[Given]) -> list[Given]:
    """Return the networks as the server has them: those given that have a card, and the other cards."""
    found = fitting(networks, cards)
    used = [each["port_id"] for each in found.values()]
    others = [
        {"port": each["port_id"], "network": each["net_id"]} for each in cards if each["port_id"] not in used
    ]
    absent = [each for each in networks if each.get("allocate_network") == "none"] if not cards else []
    return [*(networks[number] for number in sorted(found)), *absent, *others]


def dropped(before: Sequence[Given] | None, after: Sequence[Given] | None, name: str) -> list[str]:
    """Return the ports, or the floating IPs, that were given before and no longer are."""
    kept = {each.get(name) for each in after or ()}
    return sorted({str(each[name]) for each in before or () if each.get(name) and each[name] not in kept})


# -- rules ----------------------------------------------------------------------------------------------------------


def check_networks(properties: Given) -> None:
    """Check that each network is given in one way.

    Raises:
        PropertyError: it is not so.
    """
    networks = properties["networks"]
    if not isinstance(networks, (list, tuple)):
        return
    for number, each in enumerate(networks):
        if isinstance(each, Mapping):
            _check(("networks", number), each, alone=len(networks) == 1)
    ports = any(isinstance(each, Mapping) and each["port"] for each in networks)
    if ports and properties["security_groups"] and not is_unknown(properties["security_groups"]):
        raise PropertyError(
            ("security_groups",), "they cannot be given together with networks.port: give them to the port"
        )


def _check(path: tuple[str, int], network: Given, *, alone: bool) -> None:
    chosen = [name for name in ("network", "port", "subnet") if network[name]]
    if network["allocate_network"]:
        if chosen or not alone:
            raise PropertyError((*path, "allocate_network"), "nothing else can be given besides it")
        return
    if not chosen:
        raise PropertyError(path, "one of these is needed: network, port, subnet, allocate_network")
    if network["fixed_ip"] and network["port"]:
        raise PropertyError((*path, "fixed_ip"), "a port has its own addresses: give only one of both")
    if network["floating_ip"] and chosen == ["network"]:
        raise PropertyError(
            (*path, "floating_ip"), "the port is made by the compute service: give a port, or a subnet"
        )


# -- order ----------------------------------------------------------------------------------------------------------


def subnets_before(own: Sibling, siblings: Siblings) -> Iterator[str]:
    """Return the subnets of the server's networks, from which it gets its addresses."""
    networks = own.properties.get("networks")
    if not isinstance(networks, (list, tuple)):
        return
    names = {each.get("network") for each in networks if isinstance(each, Mapping)} - {None, ""}
    for each in siblings.of(Subnet) if names else ():
        network = each.properties.get("network")
        if is_unknown(network) or any(is_unknown(name) for name in names) or network in names:
            yield each.name
