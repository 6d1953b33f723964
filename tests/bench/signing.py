"""What the signature of a message costs: to make it once, and to verify it once."""

import time

from orchestrator.keys.envelope import Envelope
from orchestrator.keys.key import ACTIVE, ENGINE, Key, KeyRing
from orchestrator.model.messages import CHECK_TASK, CHECKS_QUEUE

TIMES = 5_000


def signing_ms(message_bytes: float) -> float:
    """Return the processor time, in milliseconds, that a check's message of this size is signed and verified in."""
    key = Key.generate(ENGINE, state=ACTIVE)
    ring = KeyRing([key])
    envelope = Envelope(
        kind=CHECK_TASK,
        addressee=CHECKS_QUEUE,
        id="0" * 36,
        sent_at=time.time(),
        lifetime_seconds=60.0,
        content=bytes(int(message_bytes)),
    )
    started = time.process_time()
    for _ in range(TIMES):
        Envelope.open(envelope.seal(key), ring, uses=(ENGINE,), now=envelope.sent_at)
    return (time.process_time() - started) / TIMES * 1000
