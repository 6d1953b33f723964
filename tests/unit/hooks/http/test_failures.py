"""What failed requests over HTTP have in common: a server's wish to be left alone, and distrust."""

import ssl

import pytest

from hooks.http.failures import is_distrust, retry_after_seconds

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
    assert retry_after_seconds(headers) == seconds


def test_distrust_is_found_behind_other_errors_and_nowhere_else() -> None:
    error = OSError("handshake")
    error.__cause__ = RuntimeError("in between")
    error.__cause__.__context__ = ssl.SSLCertVerificationError("self-signed")
    assert is_distrust(error)
    assert not is_distrust(OSError("handshake"))


def test_errors_that_cause_each_other_are_no_endless_search() -> None:
    error = OSError("one")
    error.__context__ = OSError("other")
    error.__context__.__context__ = error
    assert not is_distrust(error)
