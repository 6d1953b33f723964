"""Signed envelopes of messages: each is bound to its kind, addressee, id, installation and time.

An envelope is two bytes of version, which tells the length of the signature, the id of the key (8 characters), the
signature, and the signed part: msgpack of a list. Nothing is parsed before the signature is verified, and the content
not at all: that is for the receiver to do, within its limits. ``docs/queue.md`` describes it for other clients.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Self

import msgpack

from orchestrator.keys.key import ID_BYTES, Key, KeyRing

#: The first bytes, and the length of the signature that follows the id of the key: HMAC-SHA-256, Ed25519.
VERSIONS: Final = {b"I\x01": 32, b"I\x02": 64}
_VERSION_BYTES: Final = 2
#: How far ahead of its receiver's clock a sender's clock may be.
SKEW_SECONDS: Final = 300.0
#: What is signed besides the envelope itself: no other use of a key signs texts that begin so.
_CONTEXT: Final = b"isotherm message\0"

#: The reasons of refusals, as they are counted.
SIZE, FORM, KEY, SIGNATURE, KIND, ADDRESSEE, ID, LATE, EARLY, CONTENT = (
    "too large",
    "unsigned",
    "unknown key",
    "wrong signature",
    "other kind",
    "other addressee",
    "other id",
    "late",
    "early",
    "unreadable",
)
REASONS: Final = (SIZE, FORM, KEY, SIGNATURE, KIND, ADDRESSEE, ID, LATE, EARLY, CONTENT)


class Refused(ValueError):
    """A message is not taken; ``reason`` is one of :data:`REASONS`, and the text a sentence about it."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A message, and what its signature binds it to."""

    #: The name of its task, or what else it is.
    kind: str
    #: The queue or the mailbox that it is for.
    addressee: str
    #: What identifies it: a copy with another id is refused.
    id: str
    #: The id of the sender's installation; empty for a client without a database.
    installation: str = ""
    #: Seconds since the epoch by the sender's clock, and for how long it counts from then.
    sent_at: float
    lifetime_seconds: float
    content: bytes

    def seal(self, key: Key, *, summary: str = "") -> bytes:
        """Return the signed envelope; ``summary`` travels beside it, and is signed with it."""
        signed: bytes = msgpack.packb([getattr(self, name) for name in self.__slots__])
        signature = key.sign(_to_sign(signed, summary))
        version = next(each for each, length in VERSIONS.items() if length == len(signature))
        return b"".join((version, key.id.encode(), signature, signed))

    @classmethod
    def open(
        cls, data: bytes, ring: KeyRing, *, uses: Collection[str], now: float | None, summary: str = ""
    ) -> tuple[Self, Key]:
        """Return the envelope and the key that signed it; ``now`` None: its time is judged by another clock.

        Raises:
            Refused: it is none, or no key of ``ring`` for one of ``uses`` signed it, or its time is over or far ahead.
        """
        key_id, signature, signed = _parts(data)
        key = ring.named(key_id)
        if key is None or key.use not in uses:
            raise Refused(KEY, f"it is signed with a key that is none for {' or '.join(uses)} here")
        if not key.is_signature(signature, _to_sign(signed, summary)):
            raise Refused(SIGNATURE, f"it was not signed with the key {key.id} that it names")
        made = cls._of(signed)
        if now is not None:
            _require_timely(made, now)
        return made, key

    @classmethod
    def content_of(cls, data: bytes) -> bytes:
        """Return the content of an envelope that was opened before, in this process or its parent.

        Raises:
            Refused: it is no envelope.
        """
        return cls._of(_parts(data)[-1]).content

    def require(self, *, kinds: Collection[str], addressee: str, message_id: str | None = None) -> None:
        """Require what the envelope is bound to; ``message_id`` None: any.

        Raises:
            Refused: it is bound to something else.
        """
        if self.kind not in kinds:
            raise Refused(KIND, f"it was signed as {self.kind!r}")
        if self.addressee != addressee:
            raise Refused(ADDRESSEE, f"it was signed for {self.addressee!r}")
        if message_id is not None and self.id != message_id:
            raise Refused(ID, f"it was signed under the id {self.id!r}")

    @classmethod
    def _of(cls, signed: bytes) -> Self:
        try:
            values = msgpack.unpackb(signed)
            made = cls(**dict(zip(cls.__slots__, values, strict=True)))
        except (ValueError, TypeError) as error:
            raise Refused(FORM, "its signed part is no envelope") from error
        texts = (made.kind, made.addressee, made.id, made.installation)
        times = (made.sent_at, made.lifetime_seconds)
        if not (
            all(isinstance(each, str) for each in texts)
            and all(isinstance(each, (int, float)) and math.isfinite(each) for each in times)
            and isinstance(made.content, bytes)
        ):
            raise Refused(FORM, "its signed part is no envelope")
        return made


def _parts(data: bytes) -> tuple[str, bytes, bytes]:
    """Return the id of the key, the signature and the signed part."""
    length = VERSIONS.get(data[:_VERSION_BYTES])
    if length is None:
        raise Refused(FORM, "it is not signed")
    head = _VERSION_BYTES + ID_BYTES
    name = data[_VERSION_BYTES:head].decode("ascii", errors="replace")
    return name, data[head : head + length], data[head + length :]


def _to_sign(signed: bytes, summary: str) -> bytes:
    return b"".join((_CONTEXT, summary.encode(errors="replace"), b"\0", signed))


def _require_timely(envelope: Envelope, now: float) -> None:
    age = now - envelope.sent_at
    if -age > SKEW_SECONDS:
        raise Refused(EARLY, f"it was sent {-age:.0f} s ahead of this machine's clock")
    if age > envelope.lifetime_seconds + SKEW_SECONDS:
        raise Refused(LATE, f"it is {age:.0f} s old, and counted for {envelope.lifetime_seconds:.0f} s")
