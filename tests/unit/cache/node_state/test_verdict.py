"""Whether an entry is served is decided by every fact about it: one that is wrong is enough."""

from dataclasses import replace
from typing import Any

import pytest

from cache.node_state.entry import Entry
from cache.node_state.errors import NodeOffline, NodeTimeout, NodeUnreachable, NoSuchNode, SchemaMismatch
from cache.node_state.lease import Lease
from cache.node_state.requests import BOOTID_KEY, MachineStateRequest
from cache.node_state.store import Failure, Kept, Look, Tokens
from cache.node_state.verdict import Hit, Miss, Question, judge, refusal

LEASE = Lease(node="n1", incarnation="second", boot_id="boot")
TOKENS = Tokens(epoch="e", gen="g")
ENTRY = Entry(
    taken_at=0.0,
    incarnation="second",
    boot_id="boot",
    request=MachineStateRequest(bootid=True),
    complete=False,
    sections={BOOTID_KEY: b"\x01"},
)
SOUND = Look(
    now=100.0,
    tokens=TOKENS,
    kept=Kept(tokens=TOKENS, began_at=40.0, data=b""),
    lease=LEASE.to_bytes(),
    known=True,
)
QUESTION = Question(
    node="n1", request=MachineStateRequest(bootid=True), max_age_seconds=60.0, timeout_seconds=1.0
)


def test_entry_is_served_where_nothing_speaks_against_it() -> None:
    assert refusal(QUESTION, SOUND) is None
    assert judge(QUESTION, SOUND, ENTRY) == Hit(entry=ENTRY, age_seconds=60.0)


@pytest.mark.parametrize(
    ("look", "miss"),
    [
        ({"dirty": True}, Miss.DIRTY),
        ({"kept": None}, Miss.ABSENT),
        ({"tokens": None}, Miss.TOKEN),
        ({"tokens": Tokens(epoch="e", gen="another")}, Miss.TOKEN),
        ({"tokens": Tokens(epoch="another", gen="g")}, Miss.TOKEN),
        # Its agent began anew, and no token was replaced.
        ({"lease": replace(LEASE, incarnation="third").to_bytes()}, Miss.TOKEN),
        ({"now": 100.1}, Miss.AGED),
        ({"now": 39.9}, Miss.AGED),
    ],
    ids=["dirty", "absent", "no-tokens", "gen", "epoch", "incarnation", "aged", "clock"],
)
def test_one_fact_against_an_entry_is_enough(look: dict[str, Any], miss: Miss) -> None:
    assert judge(QUESTION, replace(SOUND, **look), ENTRY) is miss


def test_entry_without_a_section_that_is_asked_for_is_not_served() -> None:
    assert (
        judge(replace(QUESTION, request=MachineStateRequest(everything=True)), SOUND, ENTRY) is Miss.PARTIAL
    )
    assert judge(QUESTION, SOUND, None) is Miss.ABSENT


def test_agent_of_this_process_holds_no_lease_that_could_be_anothers() -> None:
    mine = replace(QUESTION, leased=False)
    assert isinstance(
        judge(mine, replace(SOUND, lease=replace(LEASE, incarnation="x").to_bytes()), ENTRY), Hit
    )
    assert refusal(mine, replace(SOUND, lease=None)) is None


@pytest.mark.parametrize(
    ("look", "error"),
    [
        ({"offline": "broken fan"}, NodeOffline),
        ({"lease": None}, NodeUnreachable),
        ({"lease": None, "known": False}, NoSuchNode),
        ({"lease": b"no lease"}, SchemaMismatch),
        ({"lease": replace(LEASE, schema=99).to_bytes()}, SchemaMismatch),
        ({"failure": Failure(kind="timeout", message="late", until=200.0)}, NodeTimeout),
        ({"failure": Failure(kind="unreachable", message="gone", until=200.0)}, NodeUnreachable),
    ],
    ids=["offline", "no-lease", "unknown", "unreadable", "schema", "timeout", "unreachable"],
)
def test_agent_is_not_called_where_one_fact_speaks_against_it(
    look: dict[str, Any], error: type[Exception]
) -> None:
    assert type(refusal(QUESTION, replace(SOUND, **look))) is error
    # A caller that forces a call puts up with a failure a moment ago, and with nothing else.
    forced = refusal(replace(QUESTION, force=True), replace(SOUND, **look))
    assert (forced is None) == ("failure" in look)
