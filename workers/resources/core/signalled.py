"""Resources that are signalled from machines: by a signed address, where the installation has an API."""

import shlex
from collections.abc import Callable
from typing import Any, Final, TypeVar

from orchestrator.model.collectors import Collector
from orchestrator.model.ec2_signatures import signed_url
from orchestrator.model.signed_signals import KEY, new_key, signed_address
from orchestrator.plugins.resource import Resource
from workers.resources.core.row import RowResource

_DAY_SECONDS: Final = 86400
#: The descriptions of the attributes with the command and with the address.
COMMAND: Final = (
    "The command that signals: curl's, with the signed address, where the setting api_url is set; else one for a "
    "machine on which Isotherm is installed."
)
ADDRESS: Final = "The signed address to which signals are posted; null where the setting api_url is not set."


def renew_key(resource: Resource, *, days: float | None = None) -> None:
    """Give a resource a new key, by default for ``signal_url_days``; the one before is no longer accepted."""
    lasts = resource.settings.signal_url_days if days is None else days
    resource.state.data |= new_key(resource.now + lasts * _DAY_SECONDS)


def signal_address_of(resource: Resource) -> str | None:
    """Return the address that signals a resource with POST; None without an API, or a key."""
    return _signed(resource, signed_address)


def collector_of(resource: Resource) -> Collector | None:
    """Return what a machine is given to read a resource's metadata; None without an API, or a key.

    For types of servers: the values belong into the machine's user data, and are secret. They open the metadata of this
    resource and signals to it, and end with its key.
    """
    return _signed(resource, Collector.of)


T = TypeVar("T")


def _signed(resource: Resource, sign: Callable[..., T | None]) -> T | None:
    if not resource.settings.api_url:
        return None
    return sign(
        resource.settings.api_url,
        resource.state.data,
        project=resource.stack.project,
        stack=resource.stack.name,
        stack_id=resource.stack.id,
        resource=resource.name,
    )


class SignalledResource(RowResource):
    """Base of types that are signalled by a signed address: a key of their own is made with them."""

    def handle_create(self) -> Any:
        """Make the key of the address, unless an earlier attempt already did."""
        self._make_key()
        return super().handle_create()

    def handle_adopt(self) -> Any:
        """Make a key where the adopt file has none."""
        self._make_key()
        return super().handle_adopt()

    def _make_key(self) -> None:
        if self.settings.api_url and KEY not in self.state.data:
            renew_key(self)

    def signal_address(self) -> str | None:
        """Return the signed address; None where there is no API, or was none when the resource was made."""
        return signal_address_of(self)

    def cfn_signal_address(self) -> str | None:
        """Return the address that ``cfn-signal`` takes, signed for PUT; None as :meth:`signal_address`."""
        return _signed(self, signed_url)

    def signal_command(self) -> str:
        """Return the command that signals."""
        address = self.signal_address()
        if address is None:
            return shlex.join(["isotherm", "stack", "resource", "signal", self.stack.id, self.name])
        headers = ("-H", "Content-Type: application/json", "-H", "Accept: application/json")
        return shlex.join(["curl", "-i", "-X", "POST", *headers, address])
