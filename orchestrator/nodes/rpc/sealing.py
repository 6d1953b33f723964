"""What keeps the values in messages to and from nodes from whoever reads the broker.

Arguments and answers hold what templates hold: variables, contents of files, what commands print. Where encryption keys
are configured they travel as bytes that only those open who have one of the keys; names and times are for all to read.
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
    """Seals and opens messages with the keys that the settings have; without any, it leaves them as they are."""

    def __init__(self, settings: Settings) -> None:
        """Take the keys.

        Raises:
            InvalidInput: one of them is none.
        """
        keys = [key.get_secret_value() for key in settings.encryption_keys]
        self._codec, self._has_keys = Codec(keys), bool(keys)

    def request(self, request: Request) -> dict[str, Any]:
        """Return a request as it travels."""
        return self._sealed(request.to_wire(), "arguments")

    def opened_request(self, wire: Mapping[str, Any]) -> Request:
        """Return a request that has travelled.

        Raises:
            TypeError: it is none.
            UnreadableSecret: none of the keys here opens it.
        """
        return Request.from_wire(self._opened(wire, "arguments"))

    def reply(self, reply: Reply) -> dict[str, Any]:
        """Return a reply as it travels."""
        return self._sealed(reply.to_wire(), "result")

    def opened_reply(self, wire: Mapping[str, Any]) -> Reply:
        """Return a reply that has travelled; of one that none of the keys here opens, that is the error.

        Raises:
            TypeError: it is none.
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
    """Return a request whose arguments nobody here can read.

    Raises:
        TypeError: it is none.
    """
    return replace(Request.from_wire(_without_seal(wire)), arguments={})


def _without_seal(wire: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wire.items() if name != _SEALED}
