"""Errors as pages may show them: without the message of a server or a driver, which names addresses and users."""

from typing import Final

from orchestrator.errors import IsothermError, Unavailable

_AWAY: Final = "the database does not answer"
#: What a visitor can do about it.
_REMEDY: Final = "start it, or run 'isotherm doctor', which says why; open pages go on by themselves"


def plain_sentence(error: IsothermError) -> str:
    """Return the sentence of an error, without the message of another library at its end: that belongs in the log.

    That the database is away is told with what to do.
    """
    sentence, cause = str(error), error.__cause__
    if not isinstance(error, Unavailable) or cause is None or isinstance(cause, IsothermError):
        return sentence
    plain = sentence.removesuffix(str(getattr(cause, "orig", None) or cause)).rstrip(": ") or sentence
    return f"{plain}: {_REMEDY}" if plain == _AWAY else plain
