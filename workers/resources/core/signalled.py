"""Resources that are signalled from machines: by a signed address, where the installation has an API."""

import shlex
from typing import Any, Final

from orchestrator.model.signed_signals import KEY, new_key, signed_address
from workers.resources.core.row import RowResource

_DAY_SECONDS: Final = 86400
#: The descriptions of the attributes with the command and with the address.
COMMAND: Final = (
    "The command that signals: curl's, with the signed address, where the setting api_url is set; else one for a "
    "machine on which Isotherm is installed."
)
ADDRESS: Final = "The signed address to which signals are posted; null where the setting api_url is not set."


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
        if not self.settings.api_url:
            return None
        return signed_address(
            self.settings.api_url,
            self.state.data,
            project=self.stack.project,
            stack=self.stack.name,
            stack_id=self.stack.id,
            resource=self.name,
        )

    def signal_command(self) -> str:
        """Return the command that signals."""
        address = self.signal_address()
        if address is None:
            return shlex.join(["isotherm", "stack", "resource", "signal", self.stack.id, self.name])
        headers = ("-H", "Content-Type: application/json", "-H", "Accept: application/json")
        return shlex.join(["curl", "-i", "-X", "POST", *headers, address])
