"""Messages of those who may write to the broker: malformed, forged, replayed; each with why it is to be refused."""

import base64
import gzip
import json
import random
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgpack

from orchestrator.keys.envelope import (
    ADDRESSEE,
    CONTENT,
    EARLY,
    FORM,
    ID,
    KEY,
    KIND,
    LATE,
    SIGNATURE,
    SIZE,
    Envelope,
)
from orchestrator.keys.key import ACTIVE, NODE, Key, KeyRing
from orchestrator.model.messages import (
    CHECK_TASK,
    CHECKS_QUEUE,
    COORDINATOR_QUEUE,
    FINISH_TASK,
    NODE_TASK,
    STACKS_QUEUE,
)
from orchestrator.nodes.rpc.messages import node_queue
from orchestrator.nodes.rpc.sealing import READ
from orchestrator.queue.sealing import use_of

HOST: Final = "host1"
MAILBOX: Final = "the mailbox"
#: The task that a message of each queue says to be of; of a mailbox, its kind.
TASKS: Final = {
    STACKS_QUEUE: "stack.create",
    CHECKS_QUEUE: CHECK_TASK,
    COORDINATOR_QUEUE: FINISH_TASK,
    node_queue(HOST): NODE_TASK,
    MAILBOX: READ,
}
CONTENT_TYPE: Final = "application/x-isotherm-sealed"
#: A megabyte of zeros in a kilobyte.
_BOMB: Final = gzip.compress(bytes(2**20))
#: Instead of a reason: it may be taken, and changes nothing.
TAKEN: Final = ""
#: The limit that the processes of the test have.
MOST_BYTES: Final = 32 * 1024


@dataclass(frozen=True, kw_only=True)
class Hostile:
    """A message, and the reasons for which it may be refused; with :data:`TAKEN` among them, it may be taken."""

    label: str
    place: str
    reasons: frozenset[str]
    body: bytes = b""
    headers: Any = field(default_factory=dict)
    content_type: Any = CONTENT_TYPE
    #: Only on Redis: the entry of the list itself.
    raw: bytes | None = None

    @property
    def entry(self) -> bytes:
        """The message as kombu writes it to Redis."""
        if self.raw is not None:
            return self.raw
        return json.dumps(
            {
                "body": base64.b64encode(self.body).decode(),
                "content-encoding": "binary",
                "content-type": self.content_type,
                "headers": self.headers,
                "properties": {
                    "body_encoding": "base64",
                    "delivery_mode": 2,
                    "priority": 0,
                    "delivery_info": {"exchange": "", "routing_key": self.place},
                    "delivery_tag": str(uuid.uuid4()),
                },
            }
        ).encode()


class Attacker:
    """Makes messages, by a seed; has read valid ones, and may even have the key of clients."""

    def __init__(self, ring: KeyRing, valid: Mapping[str, Envelope], seed: int, *, by_redis: bool) -> None:
        """``valid``: by place, an envelope whose work is done; ``by_redis``: can write entries that are no messages."""
        self._by_redis = by_redis
        self._ring, self._valid, self._random = ring, valid, random.Random(seed)

    def message(self) -> Hostile:
        """Return the next message."""
        made: Callable[[str], Hostile] = self._random.choice(self._ways)
        return made(self._random.choice(list(TASKS)))

    @property
    def _ways(self) -> list[Callable[[str], Hostile]]:
        return [
            self._flipped,
            self._flipped,
            self._cut,
            self._plain,
            self._old_version,
            self._deep,
            self._large,
            self._wrongly_signed,
            self._unknown_key,
            self._other_use,
            self._other_id,
            self._elsewhere,
            self._other_kind,
            self._late,
            self._early,
            self._compressed,
            self._odd_headers,
            self._nested_headers,
            self._odd_entry if self._by_redis else self._plain,
            self._replayed,
        ]

    def _key(self, place: str) -> Key:
        return self._ring.signing(NODE if place == MAILBOX else use_of(TASKS[place]))

    def _of(
        self,
        label: str,
        place: str,
        envelope: Envelope,
        *reasons: str,
        body: bytes | None = None,
        **other: Any,
    ) -> Hostile:
        return Hostile(
            label=label,
            place=place,
            reasons=frozenset(reasons),
            body=envelope.seal(self._key(place)) if body is None else body,
            headers={"task": TASKS[place], "id": envelope.id, "lang": "py"},
            **other,
        )

    def _fresh(self, place: str, **changes: Any) -> Envelope:
        return replace(self._valid[place], **{"id": str(uuid.uuid4()), "sent_at": time.time(), **changes})

    def _flipped(self, place: str) -> Hostile:
        envelope = self._valid[place]
        body = bytearray(envelope.seal(self._key(place)))
        for bit in self._random.sample(range(8 * len(body)), self._random.randint(1, 8)):
            body[bit // 8] ^= 1 << bit % 8
        return self._of("flipped bits", place, envelope, FORM, KEY, SIGNATURE, body=bytes(body))

    def _cut(self, place: str) -> Hostile:
        envelope = self._valid[place]
        body = envelope.seal(self._key(place))
        end = self._random.randrange(len(body))
        return self._of("cut", place, envelope, FORM, KEY, SIGNATURE, body=body[:end])

    def _plain(self, place: str) -> Hostile:
        kind, body = self._random.choice(
            [
                ("application/json", json.dumps([[], {"job": {}}, {}]).encode()),
                ("application/x-msgpack", msgpack.packb([[], {"order": []}, {}])),
                ("text/plain", b"stack.create"),
                ("application/x-python-serialize", b"\x80\x04N."),
                ("", self._random.randbytes(self._random.randrange(300))),
                ("x" * 5000, b""),
            ]
        )
        return self._of("wrong type", place, self._fresh(place), FORM, body=body, content_type=kind)

    def _old_version(self, place: str) -> Hostile:
        body = self._valid[place].seal(self._key(place))
        version = self._random.choice([b"I\x00", b"I\x03", b"I\xff", b"J\x01"])
        return self._of("another version", place, self._fresh(place), FORM, body=version + body[2:])

    def _deep(self, place: str) -> Hostile:
        levels = self._random.choice([500, 2_000, 15_000])
        content = b"\x81\xa3job" + b"\x91" * levels + b"\x90"
        return self._of("too deep", place, self._fresh(place, content=content), CONTENT)

    def _large(self, place: str) -> Hostile:
        content = bytes(MOST_BYTES + self._random.randrange(1000))
        return self._of("too large", place, self._fresh(place, content=content), SIZE)

    def _wrongly_signed(self, place: str) -> Hostile:
        right, envelope = self._key(place), self._fresh(place)
        own = replace(Key.generate(right.use, state=ACTIVE, node=right.node), id=right.id)
        return self._of("wrong signature", place, envelope, SIGNATURE, body=envelope.seal(own))

    def _unknown_key(self, place: str) -> Hostile:
        right, envelope = self._key(place), self._fresh(place)
        own = Key.generate(right.use, state=ACTIVE, node=right.node)
        return self._of("unknown key", place, envelope, KEY, body=envelope.seal(own))

    def _other_use(self, place: str) -> Hostile:
        envelope, use = self._fresh(place), self._key(place).use
        key = self._random.choice([each for each in self._ring if each.use != use and each.secret])
        return self._of("key of another use", place, envelope, KEY, body=envelope.seal(key))

    def _other_id(self, place: str) -> Hostile:
        envelope = self._valid[place]
        # A mailbox has no header.
        reason = TAKEN if place == MAILBOX else ID
        made = self._of("replayed under another id", place, envelope, reason)
        return replace(made, headers={**made.headers, "id": str(uuid.uuid4())})

    def _elsewhere(self, place: str) -> Hostile:
        envelope = self._fresh(place, addressee=self._random.choice([*TASKS, "asker.1", ""]) + "x")
        return self._of("for another queue", place, envelope, ADDRESSEE)

    def _other_kind(self, place: str) -> Hostile:
        return self._of("of another kind", place, self._fresh(place, kind="stack.delete"), KIND)

    def _late(self, place: str) -> Hostile:
        return self._of("late", place, self._fresh(place, sent_at=time.time() - 1e6), *_timing(place, LATE))

    def _early(self, place: str) -> Hostile:
        return self._of("early", place, self._fresh(place, sent_at=time.time() + 1e6), *_timing(place, EARLY))

    def _compressed(self, place: str) -> Hostile:
        made = self._of("compressed", place, self._fresh(place), FORM, SIGNATURE, KEY)
        return replace(made, body=_BOMB, headers={**made.headers, "compression": "application/x-gzip"})

    def _odd_headers(self, place: str) -> Hostile:
        made = self._of("odd headers", place, self._fresh(place), KIND, ID, FORM, SIGNATURE, CONTENT)
        odd: Any = self._random.choice([7, None, [], {}, "x" * 400, "\x00", True])
        name = self._random.choice(["task", "id", "kwargsrepr"])
        return replace(made, headers={**made.headers, name: odd})

    def _nested_headers(self, place: str) -> Hostile:
        made = self._of("nested headers", place, self._fresh(place), FORM, KIND, CONTENT, TAKEN)
        nested: Any = []
        for _ in range(self._random.choice([20, 400])):
            nested = [nested]
        return replace(made, headers={**made.headers, "stamps": nested})

    def _odd_entry(self, place: str) -> Hostile:
        raw = self._random.choice(
            [
                b"",
                b"null",
                b"7",
                b"[]",
                b"{}",
                b'{"body": 1}',
                b"[" * 100_000,
                b'{"a":' * 5_000,
                b'{"body": "", "headers": {}, "properties": 7}',
                b'{"body": "", "properties": {"delivery_tag": {}, "delivery_info": []}}',
                b'{"__type__": "decimal", "__value__": "x"}',
                b"\xff\xfe" + self._random.randbytes(50),
            ]
        )
        # kombu skips an empty one at a mailbox.
        reasons = [FORM] if raw else [FORM, TAKEN]
        return replace(self._of("odd entry", place, self._fresh(place), *reasons), raw=raw)

    def _replayed(self, place: str) -> Hostile:
        return self._of("replayed", place, self._valid[place], TAKEN)


def _timing(place: str, reason: str) -> tuple[str, ...]:
    """Return how a message ends that is early or late: among nodes, the time of the request itself counts."""
    return {MAILBOX: (CONTENT,), node_queue(HOST): (TAKEN,)}.get(place, (reason,))
