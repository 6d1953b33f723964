"""Jobs on the broker: encrypted for coordinators where there is an encryption key, bound to their task and id."""

import pytest

from orchestrator.config.secret import Secret
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.keys.envelope import CONTENT, Envelope, Refused
from orchestrator.keys.key import KeyRing
from orchestrator.keys.rotation import OWN, created
from orchestrator.model.messages import CHECK_TASK, StackJob
from orchestrator.queue.sealing import decrypted, sealed
from orchestrator.queue.serializers import unpacked

OLD, NEW = "Y1bBqCh5B1mYV0gxbQ7rVbW6Tq7l4V3m1t5i0y3r2nA=", "bXktb3RoZXIta2V5LW9mLTMyLWJ5dGVzLWhlcmUhISE="
RING = KeyRing(created([], OWN))
TASK = StackJob.task
JOB = {"job": {"name": "web", "parameters": {"password": "opensesame"}}}


def settings(*keys: str, deepest: int = 200) -> Settings:
    return Settings(encryption_keys=tuple(map(Secret, keys)), max_message_depth=deepest)


def message(sender: Settings, job: object = JOB, task: str = TASK) -> bytes:
    """Return the content of a message, as its receiver finds it in the envelope."""
    envelope = sealed(
        task,
        job,  # type: ignore[arg-type]
        RING,
        queue="stacks",
        message_id="m",
        installation="",
        lifetime_seconds=None,
        summary="",
        settings=sender,
    )
    return Envelope.content_of(envelope)


def received(content: bytes, receiver: Settings, *, task: str = TASK, message_id: str = "m") -> object:
    plain = decrypted(content, receiver, task, message_id)
    return unpacked(plain, most_bytes=receiver.max_message_bytes, deepest=receiver.max_message_depth)


def test_a_job_is_read_by_those_who_have_a_key_alone() -> None:
    content = message(settings(OLD))
    assert b"opensesame" not in content
    assert received(content, settings(OLD)) == JOB
    assert received(content, settings(NEW, OLD)) == JOB
    for other in (settings(NEW), settings()):
        with pytest.raises(Refused, match="no encryption key of this process decrypts it") as refused:
            received(content, other)
        assert refused.value.reason == CONTENT


def test_a_job_of_a_client_without_a_key_is_taken() -> None:
    content = message(settings())
    assert b"opensesame" in content
    assert received(content, settings(OLD)) == JOB == received(content, settings())


def test_the_content_of_a_job_is_bound_to_its_task_and_id() -> None:
    content = message(settings(OLD))
    for other in ({"task": "stack.update"}, {"message_id": "n"}):
        with pytest.raises(Refused):
            received(content, settings(OLD), **other)


def test_limits_hold_for_what_was_encrypted() -> None:
    deep: object = "opensesame"
    for _ in range(30):
        deep = [deep]
    with pytest.raises(InvalidInput, match="max_message_depth"):
        message(settings(OLD, deepest=20), {"job": deep})
    content = message(settings(OLD), {"job": deep})
    with pytest.raises(Refused):
        received(content, settings(OLD, deepest=20))


def test_what_holds_no_values_is_not_encrypted_again() -> None:
    assert message(settings(OLD), {"order": []}, CHECK_TASK) == message(settings(), {"order": []}, CHECK_TASK)
