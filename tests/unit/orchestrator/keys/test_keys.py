"""Keys sign for their use, are written to a file of their owner's, and are rotated with processes running."""

import json
import os
import stat
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag

from orchestrator.errors import InvalidInput, NotFound
from orchestrator.keys import key_file
from orchestrator.keys.key import ACTIVE, AGENT, ENGINE, JOB, NEW, NODE, OLD, USES, Key, KeyRing
from orchestrator.keys.key_file import LOOK_SECONDS, MISS_SECONDS, LiveKeys, read_keys, write_keys
from orchestrator.keys.rotation import OWN, created, for_agent, for_client, rotated, without


def made(use: str, state: str = ACTIVE) -> Key:
    return Key.generate(use, state=state, node="host1" if use == AGENT else "")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize("use", USES)
def test_a_key_verifies_what_it_signed_and_nothing_else(use: str) -> None:
    key, other = made(use), made(use)
    signature = key.sign(b"data")
    assert key.is_signature(signature, b"data")
    assert not key.is_signature(signature, b"Data")
    assert not key.is_signature(b"", b"data")
    assert not other.is_signature(signature, b"data")


@pytest.mark.parametrize("use", USES)
def test_a_key_survives_its_file(use: str) -> None:
    key = made(use)
    assert Key.from_wire(json.loads(json.dumps(key.to_wire()))) == key


@pytest.mark.parametrize("use", [NODE, AGENT])
def test_who_has_the_public_half_verifies_and_cannot_sign(use: str) -> None:
    key = made(use)
    public = Key.from_wire(key.to_public().to_wire())
    assert public.is_signature(key.sign(b"data"), b"data")
    assert not public.secret
    with pytest.raises(InvalidInput, match="without its secret"):
        KeyRing([public]).signing(use, node=public.node)


def test_two_pairs_have_a_cipher_that_a_third_has_not() -> None:
    engine, agent, other = made(NODE), made(AGENT), made(AGENT)
    nonce = bytes(12)
    sealed = engine.shared_with(agent.to_public()).encrypt(nonce, b"secret", b"bound")
    assert agent.shared_with(engine.to_public()).decrypt(nonce, sealed, b"bound") == b"secret"
    with pytest.raises(InvalidTag):
        other.shared_with(engine.to_public()).decrypt(nonce, sealed, b"bound")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"use": "all"}, "'use' is one of"),
        ({"state": "lost"}, "'state' one of"),
        ({"secret": "AAAA"}, "'secret' has 32 bytes"),
        ({"secret": ""}, "needs its secret"),
        ({"secret": "?"}, "are base64"),
        ({"id": "short"}, "'id' has 8 characters"),
        ({"node": "n1"}, "'node' belongs to"),
        ({"colour": "red"}, "'colour' is no field"),
        ({"id": 7}, "text to text"),
    ],
)
def test_what_is_no_key_is_refused_with_the_reason_and_without_the_secret(
    change: dict[str, object], reason: str, tmp_path: Path
) -> None:
    good = made(JOB).to_wire()
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"version": 1, "keys": [{**good, **change}]}))
    with pytest.raises(InvalidInput, match=reason) as caught:
        read_keys(path)
    assert good["secret"] not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2, "keys": []}', '{"version": 1, "keys": {}}', "[" * 100_000]
)
def test_what_is_no_file_of_keys_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=r"keys\.json"):
        read_keys(path)


def test_the_file_is_its_owners_and_is_narrowed_when_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "state" / "keys.json"
    write_keys(path, [made(JOB)])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    read_keys(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_process_notices_a_changed_file_and_keeps_its_keys_when_that_is_broken(
    tmp_path: Path, clock: Clock
) -> None:
    path = tmp_path / "keys.json"
    first, second = made(JOB), made(JOB)
    write_keys(path, [first])
    live = LiveKeys(path, clock)
    assert list(live()) == [first]
    write_keys(path, [first, second])
    assert list(live()) == [first]
    clock.now += LOOK_SECONDS
    assert list(live()) == [first, second]
    path.write_text("broken")
    clock.now += LOOK_SECONDS
    assert list(live()) == [first, second]
    path.unlink()
    clock.now += LOOK_SECONDS
    assert list(live()) == [first, second]


def test_a_process_without_keys_names_the_command_that_makes_them(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="isotherm key create"):
        LiveKeys(tmp_path / "keys.json")()


def test_a_key_that_is_not_known_yet_is_looked_for_at_once_but_forged_ones_cost_no_look_each(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "keys.json"
    first, second = made(JOB), made(JOB)
    write_keys(path, [first])
    ring = LiveKeys(path, clock)()
    reads: list[Path] = []

    def reading(each: Path) -> list[Key]:
        reads.append(each)
        return read_keys(each)

    monkeypatch.setattr(key_file, "read_keys", reading)
    write_keys(path, [first, second])
    assert ring.named(second.id) == second
    for no in range(100):
        os.utime(path, (no, no))
        assert ring.named(f"{no:08}") is None
    assert len(reads) == 1
    clock.now += MISS_SECONDS
    assert ring.named("forged!!") is None
    assert len(reads) == 2


def test_the_first_keys_are_active_and_further_ones_new() -> None:
    first = created([], OWN)
    assert [(key.use, key.state) for key in first] == [(use, ACTIVE) for use in OWN]
    assert {key.state for key in created(first, OWN)} == {NEW}
    assert [key.state for key in created(first, [AGENT], node="host1")] == [ACTIVE]


def test_what_is_signed_at_any_step_of_a_rotation_verifies_with_the_file_of_the_step_before_and_after() -> (
    None
):
    first = created([], [JOB, NODE])
    both = [*first, *created(first, [JOB, NODE])]
    turned = rotated(both)
    last = without(turned, ())
    assert [[key.state for key in step] for step in (both, turned, last)] == [
        [ACTIVE, ACTIVE, NEW, NEW],
        [OLD, OLD, ACTIVE, ACTIVE],
        [ACTIVE, ACTIVE],
    ]
    steps = [KeyRing(each) for each in (first, both, turned, last)]
    for use in (JOB, NODE):
        for signer, receiver in pairwise(steps):
            for one, other in ((signer, receiver), (receiver, signer)):
                key = one.signing(use)
                assert other.named(key.id) is not None
        assert steps[3].named(first[0].id) is None


def test_rotating_without_new_keys_and_removing_active_or_unknown_ones_is_refused() -> None:
    keys = created([], OWN)
    with pytest.raises(InvalidInput, match="no new key"):
        rotated(keys)
    with pytest.raises(InvalidInput, match="is active"):
        without(keys, [keys[0].id])
    with pytest.raises(NotFound, match="deadbeef"):
        without(keys, ["deadbeef"])


def test_of_several_new_keys_the_newest_becomes_active() -> None:
    first, second, third = made(JOB), made(JOB, NEW), made(JOB, NEW)
    assert [key.state for key in rotated([first, second, third])] == [OLD, NEW, ACTIVE]


def test_an_agent_gets_its_own_key_and_public_halves_and_a_client_only_what_signs_jobs() -> None:
    keys = [*created([], OWN), *(key for n in ("host1", "host2") for key in created([], [AGENT], node=n))]
    own = for_agent(keys, "host1")
    assert [(key.use, key.node, bool(key.secret)) for key in own] == [
        (AGENT, "host1", True),
        (NODE, "", False),
    ]
    assert {key.use for key in for_client(keys)} == {JOB}
    with pytest.raises(NotFound, match="isotherm key create --node host3"):
        for_agent(keys, "host3")
    assert {key.use for key in keys} == {JOB, ENGINE, NODE, AGENT}
