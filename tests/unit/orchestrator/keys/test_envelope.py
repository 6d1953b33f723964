"""An envelope opens for who has its key, as what it was sealed as, and in time; no other bytes open at all."""

from dataclasses import asdict, replace

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.keys.envelope import (
    ADDRESSEE,
    EARLY,
    FORM,
    ID,
    KEY,
    KIND,
    LATE,
    REASONS,
    SIGNATURE,
    SKEW_SECONDS,
    Envelope,
    Refused,
)
from orchestrator.keys.key import ACTIVE, ENGINE, JOB, NODE, Key, KeyRing

KEYS = {use: Key.generate(use, state=ACTIVE) for use in (JOB, ENGINE, NODE)}
RING = KeyRing(KEYS.values())
#: What no field of an envelope is.
ODD: tuple[object, ...] = ({}, float("nan"), float("inf"))
NOW = 1_000_000.0
ENVELOPE = Envelope(
    kind="stack.create",
    addressee="stacks",
    id="m1",
    installation="i",
    sent_at=NOW,
    lifetime_seconds=60.0,
    content=b"\x81\xa3job\x80",
)
SUMMARY = "{'stack': 'a'}"
each_use = pytest.mark.parametrize("use", KEYS)


def opened(data: bytes, *, use: str = JOB, now: float | None = NOW, summary: str = "") -> Envelope:
    envelope, key = Envelope.open(data, RING, uses=(use,), now=now, summary=summary)
    assert key == KEYS[use]
    return envelope


def reason(data: bytes, *, use: str = JOB, now: float | None = NOW, summary: str = "") -> str:
    with pytest.raises(Refused) as caught:
        Envelope.open(data, RING, uses=(use,), now=now, summary=summary)
    assert caught.value.reason in REASONS
    return caught.value.reason


@each_use
@given(content=st.binary(max_size=200), summary=st.text(max_size=50))
def test_what_was_sealed_opens(use: str, content: bytes, summary: str) -> None:
    sealed = replace(ENVELOPE, content=content).seal(KEYS[use], summary=summary)
    assert opened(sealed, use=use, summary=summary).content == content
    assert Envelope.content_of(sealed) == content


@each_use
@given(data=st.data())
def test_no_changed_bit_is_unnoticed(use: str, data: st.DataObject) -> None:
    sealed = bytearray(ENVELOPE.seal(KEYS[use]))
    for bit in data.draw(st.sets(st.integers(0, 8 * len(sealed) - 1), min_size=1, max_size=4)):
        sealed[bit // 8] ^= 1 << bit % 8
    assert reason(bytes(sealed), use=use) in (FORM, KEY, SIGNATURE)


@each_use
@given(data=st.data())
def test_neither_a_part_nor_more_opens(use: str, data: st.DataObject) -> None:
    sealed = ENVELOPE.seal(KEYS[use])
    end = data.draw(st.integers(0, len(sealed) - 1))
    assert reason(sealed[:end], use=use) in (FORM, KEY, SIGNATURE)
    more = data.draw(st.binary(min_size=1, max_size=20))
    assert reason(sealed + more, use=use) == SIGNATURE


@given(st.binary(max_size=400))
def test_other_bytes_do_not_open(data: bytes) -> None:
    assert reason(data) in (FORM, KEY, SIGNATURE)


def test_a_signature_is_good_for_one_summary() -> None:
    sealed = ENVELOPE.seal(KEYS[JOB], summary=SUMMARY)
    assert opened(sealed, summary=SUMMARY) == ENVELOPE
    assert reason(sealed, summary="") == SIGNATURE
    assert reason(sealed, summary=SUMMARY + " ") == SIGNATURE


@each_use
def test_the_key_of_another_use_does_not_count(use: str) -> None:
    sealed = ENVELOPE.seal(KEYS[use])
    for other in KEYS.keys() - {use}:
        assert reason(sealed, use=other) == KEY


def test_a_key_that_is_not_here_and_one_that_only_has_the_same_id_do_not_count() -> None:
    foreign = Key.generate(JOB, state=ACTIVE)
    assert reason(ENVELOPE.seal(foreign)) == KEY
    assert reason(ENVELOPE.seal(replace(foreign, id=KEYS[JOB].id))) == SIGNATURE


def test_a_signature_of_a_pair_is_no_mac_of_its_public_half() -> None:
    """Who only has a public half cannot use it as a secret, whatever version an envelope says it has."""
    public = KEYS[NODE].public[:32]
    mac = Key(id=KEYS[NODE].id, use=JOB, state=ACTIVE, created_at="", secret=public)
    assert reason(ENVELOPE.seal(mac), use=NODE) == SIGNATURE


def test_it_counts_for_its_time_and_allows_clocks_that_differ() -> None:
    sealed = ENVELOPE.seal(KEYS[JOB])
    last, first = NOW + 60.0 + SKEW_SECONDS, NOW - SKEW_SECONDS
    assert opened(sealed, now=last) == opened(sealed, now=first) == ENVELOPE
    assert reason(sealed, now=last + 1) == LATE
    assert reason(sealed, now=first - 1) == EARLY
    assert opened(sealed, now=None) == ENVELOPE


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ({"kinds": ("stack.delete",), "addressee": "stacks"}, KIND),
        ({"kinds": ("stack.create",), "addressee": "checks"}, ADDRESSEE),
        ({"kinds": ("stack.create",), "addressee": "stacks", "message_id": "m2"}, ID),
    ],
)
def test_it_is_bound_to_kind_addressee_and_id(bound: dict[str, object], expected: str) -> None:
    ENVELOPE.require(kinds=("stack.create",), addressee="stacks", message_id="m1")
    with pytest.raises(Refused) as caught:
        ENVELOPE.require(**bound)  # type: ignore[arg-type]  # as the cases say
    assert caught.value.reason == expected


@pytest.mark.parametrize(
    "signed",
    [
        b"",
        b"\xc1",
        msgpack.packb({}),
        msgpack.packb([]),
        msgpack.packb([*asdict(ENVELOPE).values(), 1]),
        *(msgpack.packb([*list(asdict(ENVELOPE).values())[:no], None]) for no in range(7)),
        *(
            msgpack.packb(
                [odd if each == no else value for each, value in enumerate(asdict(ENVELOPE).values())]
            )
            for no in range(7)
            for odd in ODD
        ),
        b"\x91" * 2000,
    ],
)
def test_who_has_a_key_can_still_sign_no_other_form(signed: bytes) -> None:
    key = KEYS[JOB]
    data = b"I\x01" + key.id.encode() + key.sign(b"isotherm message\0\0" + signed) + signed
    assert reason(data) == FORM
