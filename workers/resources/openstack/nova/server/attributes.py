"""The attributes of a server that its service does not show as they are read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from workers.clients.openstack import OpenStack
from workers.clients.openstack_errors import status_of

Shown = Mapping[str, Any]
#: The kinds of consoles, each with the protocol under which the service has it.
_CONSOLES: Final = {
    "novnc": "vnc",
    "xvpvnc": "vnc",
    "spice-html5": "spice",
    "rdp-html5": "rdp",
    "serial": "serial",
    "webmks": "mks",
}
#: The first version with one address for all of them, and with all of them.
_CONSOLES_SINCE: Final = "2.8"


def networks_of(shown: Shown, interfaces: Sequence[Shown]) -> dict[str, list[str]]:
    """Return the addresses of a server by the name and by the id of each network."""
    found = addresses_of(shown, interfaces)
    return {label: [each["addr"] for each in addresses] for label, addresses in found.items()}


def addresses_of(
    shown: Shown, interfaces: Sequence[Shown], look_at: Callable[[str], Shown] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Return the addresses of a server with their ports, by the name and by the id of each network.

    ``look_at`` returns a network, with its subnets, to be part of each of its addresses.
    """
    ports = {
        (fixed["ip_address"], each["mac_addr"]): each
        for each in interfaces
        for fixed in each["fixed_ips"] or ()
    }
    addresses: dict[str, list[dict[str, Any]]] = {}
    for label, listed in (shown.get("addresses") or {}).items():
        network_id, found = "", []
        for each in listed:
            port = ports.get((each["addr"], each.get("OS-EXT-IPS-MAC:mac_addr")))
            network_id = str(port["net_id"]) if port else network_id
            found.append({**each, "port": port["port_id"] if port else None})
        if network_id and look_at is not None:
            network = look_at(network_id)
            found = [{**each, "network": network, "subnets": network["subnets"]} for each in found]
        addresses[label] = found
        if network_id:
            addresses[network_id] = found
    return addresses


def first_address_of(shown: Shown) -> str:
    """Return the first address of a server; empty if it has none."""
    listed = (shown.get("addresses") or {}).values()
    return next((str(each["addr"]) for addresses in listed for each in addresses), "")


def network_with_subnets(neutron: OpenStack, network_id: str) -> dict[str, Any]:
    """Return a network, whose subnets are in it."""
    network = dict(neutron.ask("GET", f"/networks/{network_id}")["network"])
    return {**network, "subnets": neutron.listed("/subnets", "subnets", {"network_id": network_id})}


def console_urls(nova: OpenStack, server_id: str) -> dict[str, str]:
    """Return the address of each kind of console, or why there is none."""
    urls: dict[str, str] = {}
    for kind, protocol in _CONSOLES.items():
        body = {"remote_console": {"protocol": protocol, "type": kind}}
        path = f"/servers/{server_id}/remote-consoles"
        try:
            answer = nova.ask("POST", path, body=body, microversion=_CONSOLES_SINCE)
        except Exception as error:
            if status_of(error) is None:
                raise
            urls[kind] = str(error)
        else:
            urls[kind] = str(answer["remote_console"]["url"])
    return urls
