"""Sealing of messages to and from machines: signed as a whole, and encrypted for their one receiver.

Requests are signed with the engine's key pair, replies with that of the agent: who has taken over one machine can speak
for no other, nor give orders. Arguments and results hold values of templates, such as variables, contents of files and
output of commands; only the two ends of a conversation can decrypt them.
"""

import os
import time
import uuid
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgpack
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from orchestrator.config.settings import Settings
from orchestrator.keys.envelope import CONTENT, KEY, Envelope, Refused
from orchestrator.keys.key import AGENT, NODE, Key, KeyRing
from orchestrator.nodes.rpc.messages import Reply, Request
from orchestrator.queue.serializers import unpacked

READ, REPLY, ECHO = "node.read", "node.reply", "node.echo"
#: How long an echo, which a mailbox posts to itself, counts.
_ECHO_SECONDS: Final = 60.0
_NONCE_BYTES: Final = 12


class Seal:
    """Signs and verifies, encrypts and decrypts the messages of one process: of the engine, or of a node's agent."""

    def __init__(self, settings: Settings, keys: Callable[[], KeyRing], *, node: str = "") -> None:
        """Keep the arguments; ``node``: the node whose agent this process is."""
        self._settings, self._keys, self.node = settings, keys, node

    # -- the engine --------------------------------------------------------------------------------------------------

    def call(self, request: Request) -> dict[str, Any]:
        """Return the wire form of a change, for the app to sign.

        Raises:
            InvalidInput: there is no key of the node, or none to sign with.
        """
        ring = self._keys()
        return self._locked(
            request.to_wire(), "arguments", ring.signing(NODE), ring.active(AGENT, node=request.node)
        )

    def read(self, request: Request, *, address: str, reply_to: str, life: Mapping[str, float]) -> bytes:
        """Return the message of a read to a node's mailbox.

        Raises:
            InvalidInput: as for :meth:`call`.
        """
        content = {"request": self.call(request), "reply_to": reply_to, "life": dict(life)}
        seconds = max(0.0, request.deadline - time.time())
        return self._signed(READ, address, request.id, content, seconds)

    def opened_reply(self, data: bytes, *, address: str) -> Reply:
        """Return the reply in a message.

        Raises:
            Refused: no agent signed it for this address, or the agent of another node.
        """
        envelope, key = self._opened(data, REPLY, address, AGENT)
        wire = self._unpacked(envelope)
        try:
            reply = Reply.from_wire(self._unlocked(wire, "result", key))
        except Refused:
            raise
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise Refused(CONTENT, f"it is no reply: {error}") from error
        if (reply.node, reply.id) != (key.node, envelope.id):
            raise Refused(KEY, f"the agent of {key.node!r} signed a reply of {reply.node!r}")
        return reply

    # -- an agent ----------------------------------------------------------------------------------------------------

    def opened_call(self, wire: Any) -> Request:
        """Return the request in a wire form that was verified as a whole.

        Raises:
            Refused: it is none, or for another node.
        """
        try:
            key = self._keys().named(wire["sealed"][1])
            if key is None or key.use != NODE:
                raise Refused(KEY, "it is encrypted with a key that is not here")
            request = Request.from_wire(self._unlocked(wire, "arguments", key))
        except Refused:
            raise
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise Refused(CONTENT, f"it is no request: {error}") from error
        if request.node != self.node:
            raise Refused(CONTENT, f"it is a request to {request.node!r}")
        return request

    def opened_read(self, data: bytes, *, address: str) -> tuple[Request, str, Mapping[str, Any]]:
        """Return the request of a read, the address for the reply, and the time that it has left.

        Raises:
            Refused: the engine did not sign it for this address.
        """
        envelope, _ = self._opened(data, READ, address, NODE)
        wire = self._unpacked(envelope)
        if wire.keys() != {"request", "reply_to", "life"} or not isinstance(wire["life"], dict):
            raise Refused(CONTENT, "it is no read")
        request = self.opened_call(wire["request"])
        if request.id != envelope.id:
            raise Refused(CONTENT, "its request has another id")
        return request, str(wire["reply_to"]), wire["life"]

    def reply(self, reply: Reply, *, address: str, seconds: float) -> bytes:
        """Return the message of a reply; ``seconds``: for how long it is waited for.

        Raises:
            InvalidInput: this process has no key of an agent.
        """
        ring = self._keys()
        own, other = ring.signing(AGENT, node=self.node), ring.active(NODE)
        return self._signed(
            REPLY, address, reply.id, self._locked(reply.to_wire(), "result", own, other), seconds
        )

    # -- both --------------------------------------------------------------------------------------------------------

    def echo(self, address: str, word: str) -> bytes:
        """Return the message that a mailbox posts to itself."""
        return self._signed(ECHO, address, uuid.uuid4().hex, {"echo": word}, _ECHO_SECONDS)

    def echoed(self, data: bytes, *, address: str) -> str | None:
        """Return the word of an echo; None for any other message."""
        try:
            envelope, _ = self._opened(data, ECHO, address, AGENT if self.node else NODE)
            return str(self._unpacked(envelope).get("echo"))
        except Refused:
            return None

    def _signed(self, kind: str, address: str, message_id: str, content: object, seconds: float) -> bytes:
        ring = self._keys()
        key = ring.signing(AGENT, node=self.node) if self.node else ring.signing(NODE)
        envelope = Envelope(
            kind=kind,
            addressee=address,
            id=message_id,
            sent_at=time.time(),
            lifetime_seconds=seconds,
            content=msgpack.packb(content),
        )
        return envelope.seal(key)

    def _opened(self, data: bytes, kind: str, address: str, use: str) -> tuple[Envelope, Key]:
        if len(data) > self._settings.max_message_bytes:
            raise Refused("too large", f"it has {len(data)} bytes; see the setting max_message_bytes")
        # The clocks of machines differ: the life of a request counts, and a reply is one that is waited for.
        envelope, key = Envelope.open(data, self._keys(), uses=(use,), now=None)
        envelope.require(kinds=(kind,), addressee=address)
        return envelope, key

    def _unpacked(self, envelope: Envelope) -> dict[str, Any]:
        limits = self._settings
        value = unpacked(
            envelope.content, most_bytes=limits.max_message_bytes, deepest=limits.max_message_depth
        )
        if not isinstance(value, dict):
            raise Refused(CONTENT, "its content is no map")
        return value

    def _locked(self, wire: dict[str, Any], name: str, own: Key, other: Key) -> dict[str, Any]:
        nonce = os.urandom(_NONCE_BYTES)
        secret = nonce + _cipher(own, other).encrypt(nonce, msgpack.packb(wire[name]), _bound(wire, name))
        # By the ids of the two keys, its receiver finds its own, and the sender's.
        return {**wire, name: None, "sealed": [other.id, own.id, secret]}

    def _unlocked(self, wire: Any, name: str, sender: Key) -> dict[str, Any]:
        receiver_id, sender_id, secret = wire["sealed"]
        own = self._keys().named(receiver_id)
        if own is None or not own.secret or sender_id != sender.id:
            raise Refused(KEY, "it is encrypted for a key that is not here")
        plain = {key: value for key, value in wire.items() if key != "sealed"}
        try:
            opened = _cipher(own, sender).decrypt(
                secret[:_NONCE_BYTES], secret[_NONCE_BYTES:], _bound(plain, name)
            )
        except InvalidTag as error:
            raise Refused(CONTENT, "what it holds was encrypted for another message") from error
        limits = self._settings
        value = unpacked(opened, most_bytes=limits.max_message_bytes, deepest=limits.max_message_depth)
        return {**plain, name: value}


@lru_cache(maxsize=1024)
def _cipher(own: Key, other: Key) -> AESGCM:
    return own.shared_with(other)


def _bound(wire: Mapping[str, Any], name: str) -> bytes:
    """Return what the encrypted part of a message belongs to."""
    return f"{name} {wire['id']} {wire['node']}".encode()
