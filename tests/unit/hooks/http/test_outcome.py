"""What an answer over HTTP says of the time to come."""

import pytest

from hooks.http.outcome import Answer

DATE = "Sat, 01 Jan 2000 00:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 7 "}, 7.0),
        ({"retry-after": "Sat, 01 Jan 2000 00:00:30 GMT", "date": DATE}, 30.0),
        ({"retry-after": DATE, "date": "Sat, 01 Jan 2000 00:00:30 GMT"}, 0.0),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": "-7"}, 0.0),
        ({}, 0.0),
    ],
    ids=["number", "blanks", "time", "past", "word", "negative", "nothing"],
)
def test_a_server_is_left_alone_for_as_long_as_it_says_by_its_own_clock(
    headers: dict[str, str], seconds: float
) -> None:
    assert Answer(status=503, headers=headers, content=b"").retry_after_seconds == seconds
