"""The errors that this project raises on purpose: each a sentence, some fields, and whether a retry may help.

::

    IsothermError
    ├── InvalidInput          the input is invalid: problems with file, line, path            (exit 2)
    │   ├── ClientMisconfigured   the settings of a client; or its library is not installed
    │   │                     (orchestrator.plugins.client_plugin)                            (exit 2)
    │   └── HooksNotLoaded    lifecycle plugins or event sinks, or their settings             (exit 2)
    ├── NotFound              no such stack, resource, output ...                             (exit 2)
    ├── Conflict              the name is taken, an action is under way                       (exit 2)
    │   └── FailedByPlugin    a lifecycle plugin refused, and the stack is FAILED with its
    │                         reason (orchestrator.lifecycle.brackets)                        (exit 2)
    ├── NotAllowed            the caller's role does not allow the operation                  (exit 2)
    ├── Unavailable           a service (database, broker, cache) cannot be reached           (exit 3)
    │   ├── TakenOver         another process holds the operation now
    │   │                     (orchestrator.store.traversals.operation_rows)                  (exit 3)
    │   └── LeasesUnknown     the store of the agents' leases cannot be reached
    │                         (orchestrator.nodes.rpc.errors)                                 (exit 3)
    ├── NotVerified           an external system cannot be reached to verify a reference      (exit 3)
    │   └── PropertyNotVerified   of a property (orchestrator.plugins.properties)             (exit 3)
    ├── EntityNotFound        an external system has no object of that name; becomes
    │                         a constraint's sentence (orchestrator.plugins.asking)           (exit 1)
    ├── AmbiguousName         there are several of that name; becomes a sentence too
    │                         (orchestrator.plugins.asking)                                   (exit 1)
    ├── Refused               a request to the API is malformed, or has no caller; becomes a fault
    │                         with its own status (orchestrator.api.faults)                   (exit 1)
    ├── PluginMistake         a plugin broke its contract: the plugin's author must act       (exit 1)
    ├── Bug                   an unexpected error in another process: please report it        (exit 1)
    ├── ResolveError          a call of a template's function fails; becomes a problem of
    │                         InvalidInput, an output's error or a resource's reason
    │                         (orchestrator.template.functions.base)                          (exit 1)
    ├── CircularDependency    resources require each other; becomes a problem of InvalidInput
    │                         (orchestrator.model.graph)                                      (exit 1)
    ├── UnreadableValue       stored bytes are no value, such as those of an older version
    │   │                     (orchestrator.model.codec)                                      (exit 1)
    │   └── MisplacedValue    stored for another row, or changed: restore the row
    │                         (orchestrator.model.codec)                                      (exit 1)
    └── UnreadableSecret      stored with a key that is not configured: configure it
                              (orchestrator.model.codec)                                      (exit 1)
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, ClassVar, Final

#: Sentences quote at most so many characters of a name, and have at most so many themselves.
LONGEST_NAME: Final = 255
_LONGEST_SENTENCE: Final = 2_000
#: The most problems that one error keeps.
MOST_PROBLEMS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in a text file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem of an input: where it is, what was found, what was expected, and what to do."""

    message: str
    #: Dotted path inside the document, such as ``resources.web.properties.flavor``.
    path: str = ""
    position: Position | None = None
    #: The advice, such as ``did you mean 'flavor'?``; may be empty.
    hint: str = ""

    def __post_init__(self) -> None:
        for part in ("message", "path", "hint"):
            text = getattr(self, part)
            if len(text) > _LONGEST_SENTENCE:
                object.__setattr__(self, part, cut(text, _LONGEST_SENTENCE))

    def __str__(self) -> str:
        place = f"{self.position}: " if self.position else ""
        path = f"{self.path}: " if self.path else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{path}{self.message}{hint}"

    def to_wire(self) -> dict[str, object]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        return asdict(self)

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> "Problem":
        """Rebuild from plain types."""
        position = data.get("position")
        return cls(**{**data, "position": Position(**position) if position else None})


def cut(text: str, longest: int = LONGEST_NAME) -> str:
    """Return a text, cut to ``longest`` characters with dots at the end if it is longer."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def text_of(error: BaseException) -> str:
    """Return an error's own message; a sentence about it where the author's ``__str__`` fails."""
    try:
        return str(error)
    except Exception as fault:  # noqa: BLE001  # an author's own method
        return f"{type(error).__name__}, whose message cannot be read: {type(fault).__name__}"


def typed_message(error: BaseException) -> str:
    """Return an error's message after the name of its type, which the messages of some libraries begin with already."""
    name, text = type(error).__name__, text_of(error)
    return text if re.match(rf"{re.escape(name)}\b", text) else f"{name}: {text}"


def message_of(error: Exception) -> str:
    """Return the message of an error of this project as it is, and that of another library's after its type."""
    return text_of(error) if isinstance(error, IsothermError) else typed_message(error)


def _first(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    first = tuple(islice(problems, MOST_PROBLEMS + 1))
    if len(first) <= MOST_PROBLEMS:
        return first
    more = Problem(message=f"these are the first {MOST_PROBLEMS - 1} problems; there are more")
    return (*first[: MOST_PROBLEMS - 1], more)


class IsothermError(Exception):
    """Base of every error this project raises on purpose."""

    #: Whether doing the same again could succeed.
    retryable: ClassVar[bool] = False


class InvalidInput(IsothermError):
    """The input is refused; nothing was changed. Of very many problems, only the first are kept."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = _first(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class HooksNotLoaded(InvalidInput):
    """Installed lifecycle plugins or event sinks cannot be used; a process that needs them does not start."""


class NotFound(IsothermError):
    """The requested object does not exist; the sentence names the nearest one that does."""


class Conflict(IsothermError):
    """The request cannot be carried out in the present state."""


class NotAllowed(IsothermError):
    """The caller's role does not allow the operation; the sentence says which role is needed for which project."""


class Unavailable(IsothermError):
    """A service this process needs cannot be reached; the hint, if there is one, says what to correct."""

    retryable = True

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class NotVerified(IsothermError):
    """A referenced object could not be verified, because the external system that has it does not answer.

    The value may be right: it is not refused, and the action that needs it does not begin. The problem has the position
    of a value in a template or its parameters.
    """

    retryable = True

    def __init__(self, problem: str | Problem) -> None:
        self.problem = problem if isinstance(problem, Problem) else Problem(message=problem)
        super().__init__(str(problem))


class PluginMistake(IsothermError):
    """A plugin broke its contract; the sentence names the plugin and the rule."""


class Bug(IsothermError):
    """An unexpected error in another process; that process's log has the traceback."""
