"""Encryption of the arguments and results in messages to and from machines.

They hold values of templates: variables, contents of files, output of commands. With encryption keys configured they
are encrypted on the broker; names and times are not.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from orchestrator.config.settings import Settings
from orchestrator.model.codec import Codec, UnreadableSecret
from orchestrator.nodes.rpc.errors import RpcFailed
from orchestrator.nodes.rpc.messages import Fault, Reply, Request

_SEALED: Final = "sealed"


class Seal:
    """Encrypts and decrypts messages with the keys of the settings; without keys it leaves them plain."""

    def __init__(self, settings: Settings) -> None:
        """Make a seal with the keys of the settings.

        Raises:
            InvalidInput: a key is malformed.
        """
        keys = [key.get_secret_value() for key in settings.encryption_keys]
        self._codec, self._has_keys = Codec(keys), bool(keys)

    def request(self, request: Request) -> dict[str, Any]:
        """Return the wire form of a request."""
        return self._sealed(request.to_wire(), "arguments")

    def opened_request(self, wire: Mapping[str, Any]) -> Request:
        """Return the request of a wire form.

        Raises:
            TypeError: a field is missing or unknown.
            UnreadableSecret: no configured key decrypts it.
        """
        return Request.from_wire(self._opened(wire, "arguments"))

    def reply(self, reply: Reply) -> dict[str, Any]:
        """Return the wire form of a reply."""
        return self._sealed(reply.to_wire(), "result")

    def opened_reply(self, wire: Mapping[str, Any]) -> Reply:
        """Return the reply of a wire form; if no configured key decrypts it, a reply with that error.

        Raises:
            TypeError: a field is missing or unknown.
        """
        try:
            return Reply.from_wire(self._opened(wire, "result"))
        except UnreadableSecret as error:
            fault = Fault(
                kind=RpcFailed.kind, message=f"its answer cannot be read: {error} (setting encryption_keys)"
            )
            return replace(Reply.from_wire(_without_seal(wire)), error=fault)

    def _sealed(self, wire: dict[str, Any], name: str) -> dict[str, Any]:
        if not self._has_keys or not wire[name]:
            return wire
        return {**wire, name: None, _SEALED: self._codec.pack(wire[name])}

    def _opened(self, wire: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        if _SEALED not in wire:
            return wire
        return {**_without_seal(wire), name: self._codec.unpack(wire[_SEALED])}


def without_arguments(wire: Mapping[str, Any]) -> Request:
    """Return the request of a wire form that cannot be decrypted, without arguments.

    Raises:
        TypeError: a field is missing or unknown.
    """
    return replace(Request.from_wire(_without_seal(wire)), arguments={})


def _without_seal(wire: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wire.items() if name != _SEALED}
