"""Serializers of messages, as kombu knows them: sealed envelopes of tasks, and signed events and remote control.

A serializer is one of a process, and so are the keys that it signs with: those of the app that was made last.
"""

import time
import uuid
from collections.abc import Callable, Collection
from typing import Any, Final

import msgpack
from kombu import compression
from kombu.serialization import register

from orchestrator.keys.envelope import FORM, Envelope, Refused
from orchestrator.keys.key import AGENT, ENGINE, NODE, Key, KeyRing
from orchestrator.model.plain import NotPlain, refuse_not_plain

#: The serializers of tasks, and of messages to mailboxes; of Celery's events; of its remote control.
SEALED, EVENT, CONTROL = "isotherm-sealed", "isotherm-event", "isotherm-control"
#: Remote control and events are small.
MOST_BYTES: Final = 1024 * 1024
DEEPEST: Final = 32
#: After how long an event or a command counts no more.
_LIFETIME_SECONDS: Final = 600.0
_USES: Final = {EVENT: (ENGINE, AGENT), CONTROL: (NODE, AGENT)}


class _ProcessKeys:
    """The keys of this process."""

    read: Callable[[], KeyRing] = staticmethod(KeyRing)


def use_keys(read: Callable[[], KeyRing]) -> None:
    """Have this process sign and verify with these keys from now on."""
    _ProcessKeys.read = staticmethod(read)


def unpacked(content: bytes, *, most_bytes: int, deepest: int) -> Any:
    """Return the value of packed bytes, which is plain and within these limits.

    Raises:
        Refused: it is not.
    """
    if len(content) > most_bytes:
        raise Refused("too large", f"it has {len(content)} bytes, and {most_bytes} are allowed")
    try:
        value = msgpack.unpackb(content)
        refuse_not_plain(value, most_bytes=4 * most_bytes, deepest=deepest, binary=True)
    except (NotPlain, ValueError, TypeError) as error:
        raise Refused("unreadable", f"its content is no message: {error}") from error
    return value


def _dump_sealed(body: Any) -> bytes:
    """Return the envelope that a task has as its one argument, or that a mailbox is sent."""
    envelope: bytes = body if isinstance(body, bytes) else body[0][0]
    return envelope


def _load_sealed(data: Any) -> tuple[tuple[bytes], dict[str, Any], dict[str, Any]]:
    """Return the arguments of a task's message, whose envelope the consumer has verified before."""
    return (Envelope.content_of(bytes(data)),), {}, {}


def _signer(uses: Collection[str]) -> Key:
    ring = _ProcessKeys.read()
    for use in uses:
        for key in ring:
            if key.use == use and key.state == "active" and key.secret:
                return key
    return ring.signing(next(iter(uses)))


def _dump_signed(kind: str) -> Callable[[Any], bytes]:
    def dump(value: Any) -> bytes:
        envelope = Envelope(
            kind=kind,
            addressee="",
            id=uuid.uuid4().hex,
            sent_at=time.time(),
            lifetime_seconds=_LIFETIME_SECONDS,
            content=msgpack.packb(value, default=str),
        )
        return envelope.seal(_signer(_USES[kind]))

    return dump


def _load_signed(kind: str) -> Callable[[Any], Any]:
    def load(data: Any) -> Any:
        if len(data) > MOST_BYTES:
            raise Refused("too large", "it is too large")
        envelope, _ = Envelope.open(bytes(data), _ProcessKeys.read(), uses=_USES[kind], now=time.time())
        envelope.require(kinds=(kind,), addressee="")
        return unpacked(envelope.content, most_bytes=MOST_BYTES, deepest=DEEPEST)

    return load


def _refuse_compressed(_data: bytes) -> bytes:
    raise Refused(FORM, "compressed messages are not accepted")


def _register() -> None:
    register(SEALED, _dump_sealed, _load_sealed, f"application/x-{SEALED}", "binary")
    for kind in _USES:
        register(kind, _dump_signed(kind), _load_signed(kind), f"application/x-{kind}", "binary")
    # A few bytes may decompress to gigabytes.
    for encoder in compression.encoders():
        body = compression.get_encoder(encoder)
        compression.register(body[0], _refuse_compressed, encoder)


_register()
