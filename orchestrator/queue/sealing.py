"""Sealing of tasks' messages: which key signs which, and what an envelope of a task holds."""

import time
from collections.abc import Mapping
from typing import Any, Final

import msgpack

from orchestrator.errors import InvalidInput, Problem
from orchestrator.keys.envelope import Envelope, Refused
from orchestrator.keys.key import ENGINE, JOB, NODE, KeyRing
from orchestrator.model.messages import JOBS, NODE_TASK
from orchestrator.queue.serializers import unpacked

#: For how long a message counts that has no time of its own.
LIFETIME_SECONDS: Final = 24 * 3600.0


def use_of(task: str) -> str:
    """Return the use of the keys that sign the messages of a task."""
    if task in JOBS:
        return JOB
    return NODE if task == NODE_TASK else ENGINE


def sealed(
    task: str,
    arguments: Mapping[str, Any],
    ring: KeyRing,
    *,
    queue: str,
    message_id: str,
    installation: str,
    lifetime_seconds: float | None,
    summary: str,
    most_bytes: int,
    deepest: int,
) -> bytes:
    """Return the envelope of a task's message; ``lifetime_seconds`` None: that of most.

    Raises:
        InvalidInput: there is no key to sign it with, or receivers would refuse it as too large or too deep.
        TypeError, ValueError, OverflowError: the arguments cannot be packed.
    """
    content: bytes = msgpack.packb(arguments)
    if task in JOBS:
        try:
            unpacked(content, most_bytes=most_bytes, deepest=deepest)
        except Refused as error:
            problem = Problem(
                message=f"the job cannot be sent: {error}",
                hint="see the settings max_message_bytes and max_message_depth",
            )
            raise InvalidInput([problem]) from error
    envelope = Envelope(
        kind=task,
        addressee=queue,
        id=message_id,
        installation=installation,
        sent_at=time.time(),
        lifetime_seconds=float(lifetime_seconds or LIFETIME_SECONDS),
        content=content,
    )
    return envelope.seal(ring.signing(use_of(task)), summary=summary)
