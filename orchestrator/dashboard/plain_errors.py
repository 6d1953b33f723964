"""Errors as pages may show them: without the message of a server or a driver, which names addresses and users."""

from orchestrator.errors import IsothermError, Unavailable


def plain_sentence(error: IsothermError) -> str:
    """Return the sentence of an error, without the message of another library at its end: that belongs in the log."""
    sentence, cause = str(error), error.__cause__
    if not isinstance(error, Unavailable) or cause is None or isinstance(cause, IsothermError):
        return sentence
    return sentence.removesuffix(str(getattr(cause, "orig", None) or cause)).rstrip(": ") or sentence
