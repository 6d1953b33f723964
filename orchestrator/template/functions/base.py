"""What every function of the template language is: a small class, built once per call in a template.

A package adds a function by an entry point in the group ``isotherm.functions``; the class's ``name`` is the key
that calls it.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Final

from orchestrator.definition import UNKNOWN, AttributePath, StackDefinition, is_unknown
from orchestrator.errors import IsothermError, NotFound, Problem
from orchestrator.template.document import Path, Positions
from orchestrator.template.versions import VERSIONS, HotVersion, Lifetime

#: No function makes a longer text: nested replacements could otherwise fill the memory.
LONGEST_TEXT: Final = 4 * 1024 * 1024


class FunctionError(ValueError):
    """A function was given something it cannot take; ``path`` is relative to its arguments.

    The sentence never shows a value: it may be a secret.
    """

    def __init__(self, message: str, *, path: Path = (), hint: str = "") -> None:
        super().__init__(message)
        self.path, self.hint = path, hint


class ResolveError(IsothermError):
    """A function could not be evaluated; the problem says where it stands and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return str(self.problem)


class Function(ABC):
    """Base of every function.

    ``arguments`` hold nested calls as functions. :meth:`check` refuses a wrong shape when the template is read;
    :meth:`call` gets arguments whose calls are resolved.
    """

    name: ClassVar[str]
    #: The versions that have the function.
    lifetime: ClassVar[Lifetime] = Lifetime(VERSIONS[0])
    #: Whether the result follows from the arguments alone, so that mistakes in fixed arguments show at once.
    pure: ClassVar[bool] = False

    def __init__(self, arguments: Any, *, version: HotVersion, path: Path, positions: Positions) -> None:
        """Keep what is needed to evaluate and to complain.

        Raises:
            FunctionError: the arguments have a wrong shape.
        """
        self.arguments = arguments
        self.version = version
        #: Where the call's key stands in the document.
        self.path = path
        self._positions = positions
        self.check()
        if self.pure and not holds_call(arguments):
            self.call(plain_copy(arguments), _NO_STACK)

    # -- what a function implements ----------------------------------------------------------------------------

    def check(self) -> None:  # noqa: B027 - most functions need no more than the default
        """Check the shape of :attr:`arguments`, as far as it is fixed in the template.

        Raises:
            FunctionError: it is wrong.
        """

    @abstractmethod
    def call(self, arguments: Any, stack: StackDefinition) -> Any:
        """Return the value for resolved arguments, in plain types.

        Raises:
            FunctionError: the arguments cannot be taken.
        """

    def dependencies(self) -> Iterable[str]:
        """Return the names of the resources that must be complete first."""
        return ()

    def required_attributes(self) -> Iterable[tuple[str, AttributePath]]:
        """Return the attributes that must be collected: resource name, attribute with its path."""
        return ()

    def required_files(self) -> Iterable[str] | None:
        """Return the keys of the files that are read; None if only their evaluation tells which."""
        return ()

    def missing(self, names: "KnownNames") -> FunctionError | None:  # noqa: ARG002 - for those that refer
        """Return what is wrong if the call refers to something that does not exist."""
        return None

    def is_open(self, hidden: Collection[str]) -> bool:
        """Whether the result may be shown: nothing but the template and parameters that are not hidden is in it."""
        return self.pure and is_open(self.arguments, hidden)

    # -- what others call --------------------------------------------------------------------------------------

    def resolve(self, stack: StackDefinition) -> Any:
        """Return the value; ``UNKNOWN`` if it depends on a resource still to be made.

        Raises:
            ResolveError: with the position of the call.
        """
        arguments = resolve(self.arguments, stack)
        if is_unknown(arguments):
            return UNKNOWN
        try:
            # What a parameter or an attribute holds belongs to everybody.
            return plain_copy(self.call(arguments, stack))
        except FunctionError as error:
            raise ResolveError(self.problem(error)) from error
        except NotFound as error:
            raise ResolveError(self.problem(FunctionError(str(error)))) from error

    def problem(self, error: FunctionError) -> Problem:
        """Return an error of this call as a problem with its place."""
        return self._positions.problem((*self.path, *error.path), str(error), error.hint)


class KnownNames:
    """What calls may refer to in one template."""

    def __init__(
        self, *, parameters: Iterable[str], resources: Mapping[str, Any], files: Mapping[str, str]
    ) -> None:
        self.parameters = dict.fromkeys(parameters)
        self.resources = resources
        self.files = files


def resolve(value: Any, stack: StackDefinition) -> Any:
    """Return ``value`` with every call in it evaluated, in fresh maps and lists.

    Raises:
        ResolveError: a call failed.
    """
    if isinstance(value, Function):
        return value.resolve(stack)
    if isinstance(value, dict):
        return {key: resolve(item, stack) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve(item, stack) for item in value]
    return value


def plain_copy(value: Any) -> Any:
    """Return a copy of plain data, without any container in common."""
    if isinstance(value, dict):
        return {key: plain_copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_copy(item) for item in value]
    return value


def holds_call(value: Any) -> bool:
    """Whether ``value`` is, or anywhere holds, a call."""
    if isinstance(value, dict):
        return any(map(holds_call, value.values()))
    if isinstance(value, list):
        return any(map(holds_call, value))
    return isinstance(value, Function)


def is_open(value: Any, hidden: Collection[str]) -> bool:
    """Whether what ``value`` gives may be shown: none of the calls in it reads what may be a secret."""
    if isinstance(value, Function):
        return value.is_open(hidden)
    if isinstance(value, dict):
        return all(is_open(item, hidden) for item in value.values())
    if isinstance(value, list):
        return all(is_open(item, hidden) for item in value)
    return True


def kind_of(value: object) -> str:
    """Return what a value is, in the language's words, for sentences that must not show the value."""
    if isinstance(value, Function):
        return f"a call of {value.name}"
    return _KINDS.get(type(value), type(value).__name__)


_KINDS: Final[dict[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    str: "text",
    int: "a number",
    float: "a number",
    dict: "a map",
    list: "a list",
}

_NO_STACK: Final = StackDefinition(name="", id="")
