"""A bucket grants no more than its limit in any window, and wastes nothing of it."""

import math

from hypothesis import given
from hypothesis import strategies as st

from cache.rates.bucket import Draw, Limit, drawn

#: Powers of two, so that times are exact.
RATES = st.sampled_from([0.25, 1.0, 8.0, 64.0])
PAUSES = st.integers(0, 64).map(lambda steps: steps / 16)
NOW = 1_000_000.0


@st.composite
def histories(draw: st.DrawFn) -> tuple[Limit, list[tuple[float, Draw]]]:
    limit = Limit(draw(RATES), draw(st.integers(1, 8)))
    asked = draw(
        st.lists(
            st.tuples(PAUSES, st.integers(0, limit.burst - 1), st.sampled_from([0.0, 1.0, 10.0])), max_size=40
        )
    )
    return limit, [(pause, Draw(limit, reserve, patience)) for pause, reserve, patience in asked]


def granted(asked: list[tuple[float, Draw]]) -> list[tuple[float, Draw]]:
    """Return when requests are sent, each with its draw."""
    now, state, sent = NOW, None, []
    for pause, draw in asked:
        now += pause
        state, wait = drawn(state, draw, now)
        if wait <= draw.patience_seconds:
            sent.append((now + wait, draw))
    return sent


@given(histories())
def test_in_any_window_at_most_the_burst_and_the_rate_are_granted(
    history: tuple[Limit, list[tuple[float, Draw]]],
) -> None:
    limit, asked = history
    times = sorted(at for at, _ in granted(asked))
    for first, begin in enumerate(times):
        for last in range(first, len(times)):
            most = limit.burst + limit.requests_per_second * (times[last] - begin)
            assert last - first + 1 <= most


@given(histories())
def test_what_leaves_a_reserve_never_takes_from_it(history: tuple[Limit, list[tuple[float, Draw]]]) -> None:
    limit, asked = history
    reserve = limit.burst // 2
    only = [(pause, Draw(limit, reserve, draw.patience_seconds)) for pause, draw in asked]
    last = granted(only)[-1][0] if granted(only) else NOW
    at = max(last, NOW + sum(pause for pause, _ in only))
    # The others then get all of the reserve at once.
    state = None
    now = NOW
    for pause, draw in only:
        now += pause
        state, _ = drawn(state, draw, now)
    for _ in range(reserve):
        state, wait = drawn(state, Draw(limit), at)
        assert wait == 0


def test_a_full_bucket_grants_its_burst_at_once_and_then_one_for_each_interval() -> None:
    limit = Limit(requests_per_second=4.0, burst=3)
    state, waits = None, []
    for _ in range(5):
        state, wait = drawn(state, Draw(limit, patience_seconds=10.0), NOW)
        waits.append(wait)
    assert waits == [0, 0, 0, 0.25, 0.5]


def test_a_refusal_takes_nothing_and_says_when_there_will_be_a_token() -> None:
    draw = Draw(Limit(requests_per_second=0.5, burst=1), patience_seconds=1.0)
    state, _ = drawn(None, draw, NOW)
    assert drawn(state, draw, NOW) == (state, 2.0)
    assert drawn(state, draw, NOW + 1)[1] == 1.0


def test_what_cannot_be_a_state_is_a_full_bucket() -> None:
    draw = Draw(Limit(requests_per_second=1.0, burst=1))
    for nonsense in (math.nan, math.inf, NOW * 1000):
        assert drawn(nonsense, draw, NOW) == (NOW + 1, 0.0)


def test_a_share_of_a_limit_has_room_for_a_request() -> None:
    assert Limit(100.0, 5).share(0.1) == Limit(10.0, 1)
