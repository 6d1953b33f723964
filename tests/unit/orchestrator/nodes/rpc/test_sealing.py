"""Messages to and from nodes where encryption keys are configured."""

import time

import msgpack
import pytest
from cryptography.fernet import Fernet

from orchestrator.config.settings import Settings
from orchestrator.model.codec import UnreadableSecret
from orchestrator.nodes.rpc.messages import Fault, Reply, Request
from orchestrator.nodes.rpc.sealing import Seal, without_arguments

OLD, NEW, OTHER = (Fernet.generate_key().decode() for _ in range(3))
REQUEST = Request(
    id="1",
    node="n1",
    rpc="process_start",
    arguments={"env": {"PASSWORD": "swordfish"}, "content": b"\xff"},
    operation_id="row/create",
    deadline=time.time(),
)
REPLY = Reply(
    id="1",
    node="n1",
    incarnation="i",
    boot_id="b",
    seq=0,
    inflight=0,
    taken_at=1.0,
    duration_seconds=0.1,
    result={"printed": "swordfish"},
)


def seal(*keys: str) -> Seal:
    return Seal(Settings(encryption_keys=keys))  # type: ignore[arg-type]  # pydantic makes secrets of them


def test_what_is_asked_and_answered_is_for_those_who_have_a_key() -> None:
    request, reply = seal(OLD).request(REQUEST), seal(OLD).reply(REPLY)
    for wire in (request, reply):
        assert b"swordfish" not in msgpack.packb(wire)
    assert (request["node"], request["rpc"]) == ("n1", "process_start")
    # Keys rotate.
    assert seal(NEW, OLD).opened_request(request) == REQUEST
    assert seal(NEW, OLD).opened_reply(reply) == REPLY


def test_without_keys_messages_travel_as_they_are() -> None:
    assert seal().request(REQUEST) == REQUEST.to_wire()
    assert seal(OLD).opened_request(REQUEST.to_wire()) == REQUEST
    assert seal().opened_reply(seal().reply(REPLY)) == REPLY


@pytest.mark.parametrize("keys", [(), (OTHER,)], ids=["no key", "another key"])
def test_who_has_no_key_is_told_so(keys: tuple[str, ...]) -> None:
    wire = seal(OLD).request(REQUEST)
    with pytest.raises(UnreadableSecret):
        seal(*keys).opened_request(wire)
    assert without_arguments(wire).arguments == {}
    answered = seal(*keys).opened_reply(seal(OLD).reply(REPLY))
    assert answered.result is None
    assert answered.error is not None
    assert "encryption_keys" in answered.error.message


def test_a_fault_is_for_all_to_read() -> None:
    failed = Reply(**{**REPLY.to_wire(), "result": None, "error": Fault(kind="failed", message="no")})
    assert seal(OTHER).opened_reply(seal(OLD).reply(failed)) == failed
