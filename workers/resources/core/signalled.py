"""Resources that are signalled from machines: by a signed address, where the installation has an API."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.model.ec2_signatures import SignedResource, secret_key, signed_url
from orchestrator.model.signed_signals import KEY, new_key, signed_address
from workers.resources.core.row import RowResource

_DAY_SECONDS: Final = 86400
#: The descriptions of the attributes with the command and with the address.
COMMAND: Final = (
    "The command that signals: curl's, with the signed address, where the setting api_url is set; else one for a "
    "machine on which Isotherm is installed."
)
ADDRESS: Final = "The signed address to which signals are posted; null where the setting api_url is not set."


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """What the ``cfn`` collector of os-collect-config, and cfn-init, need to read the metadata of a resource.

    The fields have the names of the options in os-collect-config's section ``cfn``.
    """

    metadata_url: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    stack_name: str
    #: The resource's name, and ``Metadata``.
    path: str


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
            self.state.data |= new_key(self.now + self.settings.signal_url_days * _DAY_SECONDS)

    def signal_address(self) -> str | None:
        """Return the signed address; None where there is no API, or was none when the resource was made."""
        return self._signed(signed_address)

    def cfn_signal_address(self) -> str | None:
        """Return the address that ``cfn-signal`` takes, signed for PUT; None as :meth:`signal_address`."""
        return self._signed(signed_url)

    def _signed(self, sign: Callable[..., str | None]) -> str | None:
        if not self.settings.api_url:
            return None
        return sign(
            self.settings.api_url,
            self.state.data,
            project=self.stack.project,
            stack=self.stack.name,
            stack_id=self.stack.id,
            resource=self.name,
        )

    def collector(self) -> Collector | None:
        """Return what a machine is given to read this resource's metadata; None as :meth:`signal_address`.

        For types of servers: the values belong into the machine's user data, and are secret. They open the metadata of
        this resource and signals to it, and end with it, or after the setting ``signal_url_days``.
        """
        secret = secret_key(self.state.data)
        if not self.settings.api_url or secret is None:
            return None
        return Collector(
            metadata_url=f"{self.settings.api_url.rstrip('/')}/",
            access_key_id=SignedResource(self.stack.project, self.stack.id, self.name).access_key,
            secret_access_key=secret,
            stack_name=self.stack.name,
            path=f"{self.name}.Metadata",
        )

    def signal_command(self) -> str:
        """Return the command that signals."""
        address = self.signal_address()
        if address is None:
            return shlex.join(["isotherm", "stack", "resource", "signal", self.stack.id, self.name])
        headers = ("-H", "Content-Type: application/json", "-H", "Accept: application/json")
        return shlex.join(["curl", "-i", "-X", "POST", *headers, address])
