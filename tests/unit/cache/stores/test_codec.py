"""Values come back from their entries, and nothing else does."""

import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dogpile.cache.api import CantDeserializeException
from hypothesis import given
from hypothesis import strategies as st

from cache.stores.codec import entry_of, value_in

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=VALUES)
def test_values_come_back_as_they_were(value: Any) -> None:
    assert value_in(entry_of(value)) == value


class Bomb:
    """Writes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (Path.touch, (self.path,))


GARBAGE = [
    b"",
    b"|",
    b"no bar at all",
    b"{}|\x2a",
    b"[1]|\x2a",
    b'{"ct": "yesterday", "v": 2}|\x2a',
    b'{"ct": NaN, "v": 2}|\x2a',
    b'{"ct": 1e999, "v": 2}|\x2a',
    b'{"ct": %d, "v": 2}|\xc1' % time.time(),
    b'{"ct": %d, "v": 2}|\x2a and more' % time.time(),
    b"\xff\xfe\x00|\x2a",
    b"[" * 100_000,
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=[f"garbage-{number}" for number in range(len(GARBAGE))])
def test_garbage_is_no_entry(garbage: bytes) -> None:
    with pytest.raises(CantDeserializeException):
        value_in(garbage)


@given(garbage=st.binary())
def test_bytes_are_an_entry_or_refused_in_one_way(garbage: bytes) -> None:
    valid_metadata = b'{"ct": %d, "v": 2}|' % time.time()
    for entry in (garbage, valid_metadata + garbage):
        try:
            value_in(entry)
        except CantDeserializeException:
            continue


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    planted = pickle.dumps(Bomb(tmp_path / "opened"))
    for entry in (planted, b'{"ct": %d, "v": 2}|' % time.time() + planted):
        with pytest.raises(CantDeserializeException):
            value_in(entry)
    assert not (tmp_path / "opened").exists()
