"""What every function of the template language is: a small class, built once per call in a template.

A package adds a function by an entry point in the group ``isotherm.functions``; the class's ``name`` is the key
that calls it.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final, Protocol

from hooks.values.nearest import Nearest
from orchestrator.config.limits import Limits
from orchestrator.definition import (
    SCALARS,
    UNKNOWN,
    AttributePath,
    ParentResourceProxy,
    StackDefinition,
    Unknown,
    is_unknown,
)
from orchestrator.errors import IsothermError, NotFound, Problem
from orchestrator.sandbox.budget import TooMuch, check_time, spend
from orchestrator.template.document import Path, Positions
from orchestrator.template.functions.growth import Growth
from orchestrator.template.versions import ALWAYS, NEVER, Lifetime, TemplateVersion

#: No function makes a longer text: nested replacements could otherwise fill the memory.
LONGEST_TEXT: Final = 4 * 1024 * 1024


class Absent(Enum):
    """The type of :data:`ABSENT`."""

    ABSENT = "not there at all"


#: What an ``if`` without a second branch gives: its entry or item is left out of the map or list around it.
ABSENT: Final = Absent.ABSENT


class FunctionError(ValueError):
    """A function was given something it cannot take; ``path`` is relative to its arguments.

    The sentence never shows a value: it may be a secret.
    """

    def __init__(self, message: str, *, path: Path = (), hint: str = "") -> None:
        super().__init__(message)
        self.path, self.hint = path, hint


@dataclass(frozen=True)
class Example:
    """A call as people write it, and what it gives: for the reference of the language, and run by a test."""

    #: The text of the call, in YAML.
    call: str
    #: In JSON's types; null where ``ABSENT`` is given.
    result: Any
    #: The values of the parameters that the call reads, by name.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: The name or date of the version that the template around the call has.
    version: str = "wallaby"
    #: The contents of the files that came with the template.
    files: Mapping[str, str] = field(default_factory=dict)
    #: What other resources gave: name -> ``{"reference": id, "attributes": {name: value}}``, both optional.
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: The resource that the template is used as.
    parent: ParentResourceProxy | None = None
    #: Other sections of the template, by their names: ``conditions``, ``Mappings``.
    sections: Mapping[str, Any] = field(default_factory=dict)


class ResolveError(IsothermError):
    """A function could not be evaluated; the problem says where it stands and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return str(self.problem)


class Verdicts(Protocol):
    """What the conditions of a template come to."""

    def refuse_unknown(self, name: str) -> None:
        """Refuse the name of a condition that does not exist.

        Raises:
            FunctionError: with the nearest name.
        """

    def verdict(self, name: str) -> Any:
        """Return whether the condition holds; ``UNKNOWN`` if a parameter it needs has no value yet.

        Raises:
            FunctionError: it refers to itself, or cannot be evaluated.
        """

    def holds(self, raw: Any, path: Path) -> Any:
        """Return whether what stands at ``path`` holds: a condition's name, true, false, null (true), or a call.

        ``UNKNOWN`` if a parameter it needs has no value yet, or if it has a mistake, which is taken down.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a call knows of the template that it stands in."""

    version: TemplateVersion
    positions: Positions
    limits: Limits = field(default_factory=Limits)
    #: The names of the template's resources; none in a check, where only requirements are known.
    resources: Collection[str] = ()
    #: The section Mappings of a CFN template.
    mappings: Mapping[str, Any] = field(default_factory=dict)
    #: None in a check: there, everything is decided.
    conditions: Verdicts | None = None
    nearest: Nearest = field(default_factory=Nearest, compare=False)
    growth: Growth = field(default_factory=Growth, compare=False)


class Function(ABC):
    """Base of every function.

    ``arguments`` hold nested calls as functions. :meth:`check` refuses a wrong shape when the template is read;
    :meth:`call` gets arguments whose calls are resolved. Both may meet what is known only later: see ``LATER``.
    """

    name: ClassVar[str]
    #: The versions that have the function.
    lifetime: ClassVar[Lifetime] = ALWAYS
    #: The versions that have it inside conditions.
    in_conditions: ClassVar[Lifetime] = NEVER
    #: Whether the result follows from the arguments alone, so that mistakes in fixed arguments show at once.
    pure: ClassVar[bool] = False
    #: Whether calls among the arguments are evaluated as the template is read, as far as parameters alone allow:
    #: for what must be known before any resource is.
    early: ClassVar[bool] = False
    examples: ClassVar[tuple[Example, ...]] = ()

    def __init__(self, arguments: Any, *, scope: Scope, path: Path) -> None:
        """Keep what is needed to evaluate and to complain.

        Raises:
            FunctionError: the arguments have a wrong shape.
        """
        self.arguments = arguments
        self.scope = scope
        self.version = scope.version
        #: Where the call's key stands in the document.
        self.path = path
        if not (self.pure and arguments is UNKNOWN):
            self.check()
        if self.pure and is_settled(self.arguments):
            check_time(self._place)
            self.call(plain_copy(self.arguments), _NO_STACK)

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
        check_time(self._place)
        try:
            value = self.call(arguments, stack)
            spend(value)
            # What a parameter or an attribute holds belongs to everybody.
            return plain_copy(value)
        except TooMuch as error:
            raise ResolveError(self.problem(FunctionError(f"what is called here {error}"))) from error
        except FunctionError as error:
            raise ResolveError(self.problem(error)) from error
        except NotFound as error:
            raise ResolveError(self.problem(FunctionError(str(error)))) from error

    def _place(self, message: str, hint: str) -> Problem:
        return self.scope.positions.problem(self.path, message, hint)

    def problem(self, error: FunctionError) -> Problem:
        """Return an error of this call as a problem with its place."""
        place = (*self.path, *_open_part(error.path, self.arguments))
        return self.scope.positions.problem(place, str(error), error.hint)


class Builder(Protocol):
    """What a macro may ask of whoever reads the template; each ``path`` is relative to the macro's arguments.

    Each raises :class:`FunctionError`, with a path that is relative to the macro's arguments too.
    """

    scope: Scope

    def value(self, raw: Any, *path: str | int) -> Any:
        """Return data with the calls in it built; mistakes in it are taken down, not raised."""

    def settled(self, raw: Any, *path: str | int) -> Any:
        """Return plain data, evaluated with nothing but parameters; ``UNKNOWN`` where one has no value yet."""

    def condition(self, raw: Any, *path: str | int) -> Any:
        """Return whether a condition holds; see :meth:`Verdicts.holds`."""


class Macro(ABC):
    """Base of what looks like a function, but is decided while the template is read: nothing of it is left."""

    name: ClassVar[str]
    lifetime: ClassVar[Lifetime] = ALWAYS
    in_conditions: ClassVar[Lifetime] = NEVER
    examples: ClassVar[tuple[Example, ...]] = ()

    @classmethod
    @abstractmethod
    def expand(cls, arguments: Any, builder: Builder) -> Any:
        """Return what takes the call's place, built: data, calls, ``ABSENT`` or ``UNKNOWN``.

        ``arguments`` are as written, not to be changed; only what is handed to the builder is looked at.

        Raises:
            FunctionError: the arguments cannot be taken.
        """


class KnownNames:
    """What calls may refer to in one template."""

    def __init__(
        self,
        *,
        parameters: Iterable[str],
        resources: Mapping[str, Any],
        files: Mapping[str, str],
        disabled: Collection[str] = (),
    ) -> None:
        self.parameters = dict.fromkeys(parameters)
        #: Those that a condition disables among them.
        self.resources = resources
        self.files = files
        self.disabled = disabled


def resolve(value: Any, stack: StackDefinition) -> Any:
    """Return ``value`` with every call in it evaluated, in fresh maps and lists.

    Raises:
        ResolveError: a call failed.
    """
    if value.__class__ in SCALARS:
        return value
    if isinstance(value, Function):
        return value.resolve(stack)
    if isinstance(value, dict):
        return {key: resolve(item, stack) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve(item, stack) for item in value]
    return value


def plain_copy(value: Any) -> Any:
    """Return a copy of plain data, without any container in common."""
    if value.__class__ in SCALARS:
        return value
    if isinstance(value, dict):
        return {key: plain_copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_copy(item) for item in value]
    return value


def is_settled(value: Any) -> bool:
    """Whether ``value`` is plain data throughout: no call, nothing that is known only later."""
    return not holds_call(value) and not is_unknown(value)


def holds_call(value: Any) -> bool:
    """Whether ``value`` is, or anywhere holds, a call."""
    if value.__class__ in SCALARS:
        return False
    if isinstance(value, dict):
        return any(map(holds_call, value.values()))
    if isinstance(value, list):
        return any(map(holds_call, value))
    return isinstance(value, Function)


def is_open(value: Any, hidden: Collection[str]) -> bool:
    """Whether what ``value`` gives may be shown: none of the calls in it reads what may be a secret."""
    if value.__class__ in SCALARS:
        return True
    if isinstance(value, Function):
        return value.is_open(hidden)
    if isinstance(value, dict):
        return all(is_open(item, hidden) for item in value.values())
    if isinstance(value, list):
        return all(is_open(item, hidden) for item in value)
    return True


def _open_part(path: Path, arguments: Any) -> Path:
    """Return so much of a path into arguments as may be said: the keys of what a call gives may be secrets."""
    value = arguments
    for depth, step in enumerate(path):
        if isinstance(value, Function):
            if isinstance(step, str):
                return path[:depth]
            continue
        try:
            value = value[step]
        except (LookupError, TypeError):
            break
    return path


def kind_of(value: object) -> str:
    """Return what a value is, in the language's words, for sentences that must not show the value."""
    if isinstance(value, Function):
        return f"a call of {value.name}"
    if value is UNKNOWN:
        return "a value that is not known yet"
    return _KINDS.get(type(value), type(value).__name__)


#: The types of arguments whose value is known only later: a call, or what a parameter without a value gave.
LATER: Final = (Function, Unknown)

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
