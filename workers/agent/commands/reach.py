"""What a probe of one project may reach: listed targets, and ports on which the probed object itself listens.

Others' ports of the machine are not among them: a probe would tell a template what answers there, and how.
"""

import ipaddress
import socket
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from typing import Final

import psutil

from hooks.http.targets import Targets

_ANY_IPV4: Final = "0.0.0.0"  # noqa: S104 -- compared with, never bound
_ANY_IPV6: Final = "::"
_LOOPBACK: Final = ("127.0.0.1", "::1")


class OutOfReach(OSError):
    """Nothing that may be probed answers to a host and a port; this tells nothing of what else may be there."""


class Reach:
    """The reach of a probe; ``own`` returns the processes of the probed object."""

    def __init__(self, targets: Targets, own: Callable[[], Iterable[psutil.Process]]) -> None:
        self._targets, self._own = targets, own

    def is_listed(self, host: str, port: int) -> bool:
        """Return whether a target in the lists may be meant."""
        return self._targets.may_permit(host, port)

    def may_reach(self, host: str, port: int) -> bool:
        """Return whether it may ever be reached."""
        return self.is_listed(host, port) or any(_of_this_machine(host))

    def address(self, host: str, port: int) -> str:
        """Return the address to connect to: of a name the first that is permitted, looked up once.

        Raises:
            OutOfReach: there is none.
            OSError: the name cannot be looked up.
        """
        if self.is_listed(host, port):
            found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
            addresses = (str(each[4][0]) for each in found)
            if permitted := next((each for each in addresses if self._targets.permits(host, port, each)), ""):
                return permitted
        local = set(_of_this_machine(host))
        bound = set(_listening(self._own(), port)) if local else set()
        if listening := next((each for each in sorted(local) if _answers(each, port, bound)), ""):
            return listening
        if local:
            raise OutOfReach("none of its own processes listens there")
        raise OutOfReach("it has no address that may be probed (setting agent.targets)")


def _of_this_machine(host: str) -> Iterator[str]:
    """Yield the addresses of this machine that a host names, without looking up any name."""
    if host.lower() == "localhost":
        yield from _LOOPBACK
        return
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return
    if address.is_loopback or str(address) in {
        each.address.partition("%")[0] for of_card in psutil.net_if_addrs().values() for each in of_card
    }:
        yield str(address)


def _answers(address: str, port: int, bound: Collection[str]) -> bool:
    """Return whether who listens on the addresses ``bound`` answers to an address: the kernel admits no other then."""
    if ":" in address:
        return address in bound or _ANY_IPV6 in bound
    if address in bound or _ANY_IPV4 in bound:
        return True
    # The wildcard of IPv6 also stands for IPv4, unless it is said not to: then another may listen there.
    return _ANY_IPV6 in bound and not any(
        each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port == port
        for each in psutil.net_connections("tcp4")
    )


def _listening(processes: Iterable[psutil.Process], port: int) -> Iterator[str]:
    """Yield the addresses on which a process takes connections to a port."""
    for process in processes:
        with suppress(psutil.Error):
            for each in process.net_connections("tcp"):
                if each.status == psutil.CONN_LISTEN and each.laddr.port == port:
                    yield each.laddr.ip
