"""Pages show what is away in a plain sentence; the message of a server or a driver is for the log."""

import sqlite3

import pytest
from sqlalchemy.exc import OperationalError

from orchestrator.dashboard.plain_errors import plain_sentence
from orchestrator.errors import Conflict, IsothermError, Unavailable

RAW = 'connection to server at "10.1.2.3", port 5432 failed: Connection refused'


def raised(sentence: str, cause: Exception) -> IsothermError:
    try:
        raise Unavailable(sentence) from cause
    except Unavailable as error:
        return error


@pytest.mark.parametrize("cause", [OperationalError("SELECT 1", {}, sqlite3.Error(RAW)), OSError(RAW)])
def test_the_message_of_a_server_is_left_out_and_what_to_do_is_said(cause: Exception) -> None:
    error = raised(f"the database does not answer: {RAW}", cause)
    assert plain_sentence(error) == (
        "the database does not answer: start it, or run 'isotherm doctor', which says why; "
        "open pages go on by themselves"
    )


def test_a_sentence_of_our_own_is_kept_whole() -> None:
    ours = "the database has not got the schema that this version needs; run: isotherm db upgrade"
    assert plain_sentence(raised(ours, OSError(RAW))) == ours
    assert plain_sentence(Conflict("busy: a: b")) == "busy: a: b"
    assert plain_sentence(raised("later: now", Conflict("now"))) == "later: now"
