"""Look-up of the addresses of a target: once, so that what was checked is what is connected to."""

import socket
from typing import Final

from hooks.http.targets import NotATarget, Targets

#: The message of a refusal, after the target.
REFUSED: Final = "requests may not be sent there; an operator permits targets in outgoing_targets"


def permitted_addresses(targets: Targets, host: str, port: int) -> list[str]:
    """Return those addresses of a host that a connection to this port may be opened to, in the system's order.

    Connect to one of these addresses, not to the name: a second look-up may have another answer. A host that cannot be
    a target is not looked up.

    Raises:
        NotATarget: there is none.
        OSError: the host has no address.
    """
    found = _addresses(host, port) if targets.may_permit(host, port) else []
    permitted = [each for each in found if targets.permits(host, port, each)]
    if not permitted:
        raise NotATarget(f"{host}:{port}: {REFUSED}")
    return permitted


def _addresses(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host.removeprefix("[").removesuffix("]"), port, type=socket.SOCK_STREAM)
    except UnicodeError:
        # A label is empty or too long.
        raise OSError(f"{host!r} is no name of a host") from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))
