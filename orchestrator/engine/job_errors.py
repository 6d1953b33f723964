"""Errors of refused jobs as plain types, for transport to the process that submitted the job."""

from collections.abc import Mapping
from typing import Any

from orchestrator.errors import (
    Bug,
    Conflict,
    InvalidInput,
    IsothermError,
    NotAllowed,
    NotFound,
    NotVerified,
    PluginMistake,
    Problem,
    typed_message,
)


def refusal_of(error: Exception) -> dict[str, object]:
    """Return a refused job's error as plain types; :func:`raise_refusal` is the inverse."""
    if isinstance(error, InvalidInput):
        return {"kind": "InvalidInput", "problems": [problem.to_wire() for problem in error.problems]}
    if isinstance(error, NotVerified):
        kind, problems = NotVerified.__name__, [error.problem.to_wire()]
        return {"kind": kind, "message": str(error), "problems": problems}
    if isinstance(error, IsothermError):
        return {"kind": type(error).__name__, "message": str(error)}
    sentence = "this is a bug in Isotherm, or in a plugin; the coordinator's log says where"
    return {"kind": Bug.__name__, "message": f"{typed_message(error)} ({sentence})"}


#: The classes that are restored as they were; every other becomes an IsothermError.
_REFUSALS = {
    kind.__name__: kind for kind in (NotFound, Conflict, NotAllowed, NotVerified, PluginMistake, Bug)
}


def raise_refusal(refusal: Mapping[str, Any]) -> None:
    """Raise a refused job's error again, in the submitting process.

    Raises:
        InvalidInput: the job was at fault.
        NotFound: it named what does not exist.
        Conflict: it cannot be done now.
        NotAllowed: the sender's role does not allow it.
        NotVerified: another system that validation queries did not answer.
        PluginMistake: a plugin broke its contract.
        Bug: an unexpected exception.
        IsothermError: anything else that a coordinator raises on purpose.
    """
    if refusal["kind"] == "InvalidInput":
        raise InvalidInput([Problem.from_wire(problem) for problem in refusal["problems"]])
    if refusal["kind"] == "NotVerified" and refusal.get("problems"):
        raise NotVerified(Problem.from_wire(refusal["problems"][0]))
    raise _REFUSALS.get(refusal["kind"], IsothermError)(refusal["message"])
