"""Messages to and from nodes: who can read them, and whose word counts."""

import time
from collections.abc import Callable
from dataclasses import replace

import msgpack
import pytest

from orchestrator.config.settings import Settings
from orchestrator.keys.envelope import Envelope, Refused
from orchestrator.keys.key import AGENT, NODE, Key, KeyRing
from orchestrator.keys.rotation import OWN, created, for_agent, rotated
from orchestrator.nodes.rpc.messages import Fault, Reply, Request
from orchestrator.nodes.rpc.sealing import REPLY as REPLY_KIND
from orchestrator.nodes.rpc.sealing import Seal

KEYS = [*created([], OWN), *created([], [AGENT], node="n1"), *created([], [AGENT], node="n2")]
REQUEST = Request(
    id="1",
    node="n1",
    rpc="process_start",
    arguments={"env": {"PASSWORD": "swordfish"}, "content": b"\xff"},
    operation_id="row/create",
    deadline=time.time() + 60,
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


def engine(keys: list[Key] = KEYS) -> Seal:
    return Seal(Settings(), lambda: KeyRing(keys))


def agent(node: str = "n1", keys: list[Key] = KEYS) -> Seal:
    return Seal(Settings(), lambda: KeyRing(for_agent(keys, node)), node=node)


def read(seal: Seal, request: Request = REQUEST) -> bytes:
    return seal.read(request, address="node.n1", reply_to="asker", life={"lifetime_seconds": 3.0})


def test_what_is_asked_and_answered_is_for_its_receiver_alone() -> None:
    asked, answered = read(engine()), agent().reply(REPLY, address="asker", seconds=5)
    called = engine().call(REQUEST)
    for wire in (asked, answered, msgpack.packb(called)):
        assert b"swordfish" not in wire
    assert agent().opened_read(asked, address="node.n1") == (REQUEST, "asker", {"lifetime_seconds": 3.0})
    assert agent().opened_call(called) == REQUEST
    assert engine().opened_reply(answered, address="asker") == REPLY


def test_fault_is_part_of_a_reply() -> None:
    failed = replace(REPLY, result=None, error=Fault(kind="failed", message="no"))
    assert engine().opened_reply(agent().reply(failed, address="a", seconds=5), address="a") == failed


def test_keys_are_rotated_one_end_after_the_other() -> None:
    both = [*KEYS, *created(KEYS, OWN), *created(KEYS, [AGENT], node="n1")]
    after = rotated(both)
    for engines in (KEYS, both, after):
        for agents in (both, after) if engines is after else (KEYS, both):
            wire = read(engine(engines))
            assert agent(keys=agents).opened_read(wire, address="node.n1")[0] == REQUEST
    new = agent(keys=after).reply(REPLY, address="a", seconds=5)
    assert engine(both).opened_reply(new, address="a") == REPLY


FORGED: dict[str, Callable[[], object]] = {
    "another mailbox": lambda: agent().opened_read(read(engine()), address="node.n2"),
    "another node's agent": lambda: agent("n2").opened_read(read(engine()), address="node.n1"),
    "another engine": lambda: agent().opened_read(
        read(engine([*created([], OWN), *KEYS[3:]])), address="node.n1"
    ),
    "an agent gives orders": lambda: agent().opened_read(
        agent("n2")._signed("node.read", "node.n1", "1", {}, 5.0), address="node.n1"
    ),
    "an agent speaks for another": lambda: engine().opened_reply(
        agent("n2").reply(replace(REPLY, node="n1"), address="a", seconds=5), address="a"
    ),
    "a reply of another's": lambda: engine().opened_reply(
        agent().reply(REPLY, address="another", seconds=5), address="a"
    ),
    "a call of another node": lambda: agent().opened_call(engine().call(replace(REQUEST, node="n2"))),
    "arguments of another request": lambda: agent().opened_call(
        {**engine().call(REQUEST), "sealed": engine().call(replace(REQUEST, id="2"))["sealed"]}
    ),
    "plain arguments": lambda: agent().opened_call(REQUEST.to_wire()),
    "no map": lambda: agent().opened_call([1]),
    "not signed": lambda: agent().opened_read(msgpack.packb(REQUEST.to_wire()), address="node.n1"),
    "changed on the way": lambda: agent().opened_read(read(engine())[:-1] + b"x", address="node.n1"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_proves_nothing_is_refused(forged: str) -> None:
    with pytest.raises(Refused):
        FORGED[forged]()


def test_reply_that_is_signed_and_no_reply_is_refused() -> None:
    (key,) = (each for each in KEYS if each.node == "n1")
    contents: list[object] = [
        [],
        {},
        {"sealed": 1},
        {"id": "1", "node": "n1", "sealed": [key.id, key.id, b""]},
    ]
    for content in contents:
        envelope = Envelope(
            kind=REPLY_KIND,
            addressee="a",
            id="1",
            sent_at=1.0,
            lifetime_seconds=1.0,
            content=msgpack.packb(content),
        )
        with pytest.raises(Refused):
            engine().opened_reply(envelope.seal(key), address="a")


def test_mailbox_hears_itself_and_no_other() -> None:
    for seal in (engine(), agent()):
        assert seal.echoed(seal.echo("a", "word"), address="a") == "word"
        assert seal.echoed(seal.echo("b", "word"), address="a") is None
        assert seal.echoed(b"word", address="a") is None
    assert NODE not in {key.use for key in KeyRing(for_agent(KEYS, "n1")) if key.secret}
