"""Times and spans as people type them."""

import pytest

from orchestrator.cli.times import moment_of
from orchestrator.model.durations import span_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("90m", 5400), ("1.5 h", 5400), ("2d", 172800), (" 1w ", 604800), ("0d", 0)],
)
def test_a_span_has_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert span_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "90", "-1h", "1 month", "1e9d", "nan", "999999999w", "1h30m"])
def test_what_is_no_span_is_none(text: str) -> None:
    assert span_seconds(text) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-01T00:01:00Z", 60),
        ("1970-01-01 00:01", 60),
        ("1970-01-02", 86400),
        ("1970-01-01T01:00:00+01:00", 0),
        ("90m", 1000 - 5400),
    ],
)
def test_a_time_is_in_utc_unless_it_says_otherwise_or_a_span_ago(text: str, at: float) -> None:
    assert moment_of(text, clock=lambda: 1000.0) == at


@pytest.mark.parametrize("text", ["yesterday", "", "12:00", "2024-13-01", "1709294400"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert moment_of(text) is None
