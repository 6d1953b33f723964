"""Sealing of tasks' messages: which key signs which, and what an envelope of a task holds."""

import time
from collections.abc import Mapping
from typing import Any, Final

import msgpack

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.keys.envelope import CONTENT, Envelope, Refused
from orchestrator.keys.key import ENGINE, JOB, NODE, KeyRing
from orchestrator.model.codec import BOUND, Codec, Place, UnreadableSecret, UnreadableValue
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
    settings: Settings,
) -> bytes:
    """Return the envelope of a task's message; ``lifetime_seconds`` None: that of most.

    Raises:
        InvalidInput: there is no key to sign it with, or receivers would refuse it as too large or too deep.
        TypeError, ValueError, OverflowError: the arguments cannot be packed.
    """
    content: bytes = msgpack.packb(arguments)
    if task in JOBS:
        try:
            unpacked(content, most_bytes=settings.max_message_bytes, deepest=settings.max_message_depth)
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
        content=_encrypted(content, settings, task, message_id),
    )
    return envelope.seal(ring.signing(use_of(task)), summary=summary)


def decrypted(content: bytes, settings: Settings, task: str, message_id: str) -> bytes:
    """Return the content of a message as it was before it was encrypted; a client without a key does not encrypt.

    Raises:
        Refused: no key of this process decrypts it.
    """
    if not content.startswith(BOUND):
        return content
    try:
        return _codec(settings).decrypted(content, _place(task, message_id))
    except (UnreadableSecret, UnreadableValue) as error:
        raise Refused(CONTENT, f"no encryption key of this process decrypts it: {error}") from error


def _encrypted(content: bytes, settings: Settings, task: str, message_id: str) -> bytes:
    """Return the content of a job encrypted, where there is a key: it holds the values of hidden parameters."""
    # Other messages hold names, or have their secrets encrypted already.
    if task not in JOBS or not settings.encryption_keys:
        return content
    return _codec(settings).encrypted(content, _place(task, message_id))


def _place(task: str, message_id: str) -> Place:
    return "message", task, message_id


def _codec(settings: Settings) -> Codec:
    return Codec([key.get_secret_value() for key in settings.encryption_keys])
