"""Base classes of the template language's functions: one instance is built for each call in a template.

A package adds a function by an entry point in the group ``isotherm.functions``; the class's ``name`` is the key
that calls it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from hooks.values.dataclass import dataclass
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

    ABSENT = "absent"


#: The result of an ``if`` without a second branch: its entry or item is left out of the map or list that holds it.
ABSENT: Final = Absent.ABSENT


class FunctionError(ValueError):
    """Invalid arguments of a function; ``path`` is relative to the arguments.

    The message never shows a value: it may be a secret.
    """

    def __init__(self, message: str, *, path: Path = (), hint: str = "") -> None:
        super().__init__(message)
        self.path, self.hint = path, hint


@dataclass(frozen=True)
class Example:
    """An example call and its result, printed in the language reference and verified by a test."""

    #: The text of the call, in YAML.
    call: str
    #: In JSON's types; null stands for ``ABSENT``.
    result: Any
    #: The values of the parameters that the call reads, by name.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: The name or date of the template's version.
    version: str = "wallaby"
    #: The contents of the files that came with the template.
    files: Mapping[str, str] = field(default_factory=dict)
    #: Resources by name: ``{"reference": id, "attributes": {name: value}}``, both optional.
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: The parent stack's resource that the template implements.
    parent: ParentResourceProxy | None = None
    #: Other sections of the template, by their names: ``conditions``, ``Mappings``.
    sections: Mapping[str, Any] = field(default_factory=dict)


class Departure(NamedTuple):
    """A deliberate difference from Heat: a row of the table in the language reference."""

    #: What it is about, in a few words.
    what: str
    #: What Heat does, and what Isotherm does.
    heat: str
    here: str


class ResolveError(IsothermError):
    """Failed evaluation of a function; the problem has the position and the reason."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return str(self.problem)


class Verdicts(Protocol):
    """The values of a template's conditions."""

    def refuse_unknown(self, name: str) -> None:
        """Check that a condition with this name exists.

        Raises:
            FunctionError: there is none; the hint names the nearest.
        """

    def verdict(self, name: str) -> object:
        """Return whether the condition holds; ``UNKNOWN`` if a parameter it needs has no value yet.

        Raises:
            FunctionError: it refers to itself, or cannot be evaluated.
        """

    def judged(self, value: object) -> object:
        """Return whether a computed condition holds: true, false, or the name of a condition; or ``UNKNOWN``.

        Raises:
            FunctionError: ``value`` is something else, or names a condition that refers to itself.
        """

    def holds(self, raw: object, path: Path) -> object:
        """Return whether the condition at ``path`` holds: a condition's name, true, false, null (true), or a call.

        ``UNKNOWN`` if a parameter it needs has no value yet, or if it has a mistake, which is recorded.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The context of a call: the template that contains it."""

    version: TemplateVersion
    positions: Positions
    limits: Limits = field(default_factory=Limits)
    #: The names of the template's resources; empty in a check, where only requirements are known.
    resources: Collection[str] = ()
    #: The section Mappings of a CFN template.
    mappings: Mapping[str, Any] = field(default_factory=dict)
    #: None in a check: by then, all conditions have been evaluated.
    conditions: Verdicts | None = None
    nearest: Nearest = field(default_factory=Nearest, compare=False)
    growth: Growth = field(default_factory=Growth, compare=False)


class Function(ABC):
    """Base of every function.

    ``arguments`` hold nested calls as functions. :meth:`check` rejects a wrong shape when the template is read;
    :meth:`call` receives arguments whose calls are resolved. Both may receive values that are known only later: see
    ``LATER``.
    """

    name: ClassVar[str]
    #: The versions that have the function.
    lifetime: ClassVar[Lifetime] = ALWAYS
    #: The versions that have it inside conditions.
    in_conditions: ClassVar[Lifetime] = NEVER
    #: Whether the result follows from the arguments alone, so that mistakes in fixed arguments show at once.
    pure: ClassVar[bool] = False
    #: Whether calls among the arguments are evaluated when the template is read, as far as they need parameters only:
    #: for arguments such as a resource's name, which must be known before any resource exists.
    early: ClassVar[bool] = False
    #: Of a function that takes a list of fixed length: the number of items, and their description for messages.
    expected_items: ClassVar[tuple[int, str] | None] = None
    examples: ClassVar[tuple[Example, ...]] = ()
    departures: ClassVar[tuple[Departure, ...]] = ()

    def __init__(self, arguments: Any, *, scope: Scope, path: Path) -> None:
        """Check the arguments; evaluate a pure function of fixed arguments once, so that mistakes show at once.

        Raises:
            FunctionError: the arguments have a wrong shape.
        """
        self.arguments = arguments
        self.scope = scope
        self.version = scope.version
        #: The path of the call's key in the document.
        self.path = path
        if not (self.pure and arguments is UNKNOWN):
            if self.expected_items is not None:
                expect_list(arguments, *self.expected_items)
            self.check()
        if self.pure and is_settled(self.arguments):
            check_time(self._place)
            self.call(plain_copy(self.arguments), _NO_STACK)

    def check(self) -> None:  # noqa: B027 - most functions need no more than the default
        """Check the shape of :attr:`arguments`, as far as the template fixes it.

        Raises:
            FunctionError: the shape is wrong.
        """

    @abstractmethod
    def call(self, arguments: Any, stack: StackDefinition) -> Any:
        """Return the value for resolved arguments, in plain types.

        Raises:
            FunctionError: an argument is invalid, or the value would be too large.
            NotFound: there is no resource of this name.
        """

    def dependencies(self) -> Iterable[str]:
        """Return the names of the resources that must be complete first."""
        return ()

    def required_attributes(self) -> Iterable[tuple[str, AttributePath]]:
        """Return the attributes of resources that the call reads: resource name, attribute with its path."""
        return ()

    def required_files(self) -> Iterable[str] | None:
        """Return the keys of the files that the call reads; None if they are known only after evaluation."""
        return ()

    def missing(self, names: "KnownNames") -> FunctionError | None:
        """Return an error if the call refers to something that does not exist."""
        return None

    def warnings(self) -> Iterable[FunctionError]:
        """Return what is accepted in the arguments as written, though perhaps not meant."""
        return ()

    def is_open(self, hidden: Collection[str]) -> bool:
        """Whether the result may be shown: it depends only on the template and on parameters that are not hidden."""
        return self.pure and is_open(self.arguments, hidden)

    def is_open_in(self, stack: StackDefinition, hidden: Collection[str]) -> bool:
        """Whether the result in ``stack`` may be shown to users of the stack, who may see ids of resources."""
        return self.is_open(hidden) or (self.pure and is_open_in(self.arguments, stack, hidden))

    def resolve(self, stack: StackDefinition) -> object:
        """Return the value; ``UNKNOWN`` if it depends on a resource still to be made.

        Raises:
            ResolveError: the call failed; the problem has its position.
        """
        arguments = resolve(self.arguments, stack)
        if is_unknown(arguments):
            return UNKNOWN
        check_time(self._place)
        try:
            value = self.call(arguments, stack)
            spend(value)
            # The value of a parameter or an attribute is shared.
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
    """The services that a macro receives while its template is read; each ``path`` is relative to its arguments.

    Each method raises :class:`FunctionError`, whose path is relative to the macro's arguments too.
    """

    scope: Scope

    def value(self, raw: Any, *path: str | int) -> Any:
        """Return data with the calls in it built; mistakes in it are recorded, not raised."""

    def settled(self, raw: Any, *path: str | int) -> Any:
        """Return plain data, evaluated with parameters only; ``UNKNOWN`` if one of them has no value yet."""

    def condition(self, raw: Any, *path: str | int) -> Any:
        """Return whether a condition holds; see :meth:`Verdicts.holds`."""


class Macro(ABC):
    """Base of macros: written like functions, but replaced by their result while the template is read."""

    name: ClassVar[str]
    lifetime: ClassVar[Lifetime] = ALWAYS
    in_conditions: ClassVar[Lifetime] = NEVER
    examples: ClassVar[tuple[Example, ...]] = ()
    departures: ClassVar[tuple[Departure, ...]] = ()

    @classmethod
    @abstractmethod
    def expand(cls, arguments: Any, builder: Builder) -> Any:
        """Return the built replacement of the call: data, calls, ``ABSENT`` or ``UNKNOWN``.

        ``arguments`` are as written and must not be changed; only the parts given to the builder are examined.

        Raises:
            FunctionError: an argument is invalid.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNames:
    """The names that calls in one template may refer to."""

    parameters: Collection[str]
    #: All resources, including those that a condition disables.
    resources: Collection[str]
    files: Collection[str]
    disabled: Collection[str] = ()


def resolve(value: object, stack: StackDefinition) -> object:
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


def plain_copy(value: object) -> object:
    """Return a deep copy of plain data."""
    if value.__class__ in SCALARS:
        return value
    if isinstance(value, dict):
        return {key: plain_copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_copy(item) for item in value]
    return value


def with_calls_replaced(value: object, replaced: Callable[[Function], object]) -> object:
    """Return ``value`` with ``replaced`` applied to each call in it, in fresh maps and lists."""
    if isinstance(value, Function):
        return replaced(value)
    if isinstance(value, dict):
        return {key: with_calls_replaced(item, replaced) for key, item in value.items()}
    if isinstance(value, list):
        return [with_calls_replaced(item, replaced) for item in value]
    return value


def is_settled(value: object) -> bool:
    """Whether ``value`` is plain data throughout: it contains no call and no ``UNKNOWN``."""
    return not holds_call(value) and not is_unknown(value)


def holds_call(value: object) -> bool:
    """Whether ``value`` is a call or contains one."""
    if value.__class__ in SCALARS:
        return False
    if isinstance(value, dict):
        return any(map(holds_call, value.values()))
    if isinstance(value, list):
        return any(map(holds_call, value))
    return isinstance(value, Function)


def is_open(value: object, hidden: Collection[str]) -> bool:
    """Whether the result of ``value`` may be shown: no call in it reads a possible secret."""
    if value.__class__ in SCALARS:
        return True
    if isinstance(value, Function):
        return value.is_open(hidden)
    if isinstance(value, dict):
        return all(is_open(item, hidden) for item in value.values())
    if isinstance(value, list):
        return all(is_open(item, hidden) for item in value)
    return True


def is_open_in(value: object, stack: StackDefinition, hidden: Collection[str]) -> bool:
    """Whether the result of ``value`` in ``stack`` may be shown to users of the stack."""
    if isinstance(value, Function):
        return value.is_open_in(stack, hidden)
    if isinstance(value, dict):
        return all(is_open_in(item, stack, hidden) for item in value.values())
    return not isinstance(value, list) or all(is_open_in(item, stack, hidden) for item in value)


def reads_secret(value: object, hidden: Collection[str]) -> bool:
    """Whether a call in ``value`` reads a hidden parameter or a file; ids and attributes of resources do not count."""
    if isinstance(value, Function):
        if value.pure or any(value.dependencies()):
            return reads_secret(value.arguments, hidden)
        return not value.is_open(hidden)
    if isinstance(value, dict):
        return any(reads_secret(item, hidden) for item in value.values())
    return isinstance(value, list) and any(reads_secret(item, hidden) for item in value)


def _open_part(path: Path, arguments: Any) -> Path:
    """Return the part of a path into arguments that may be shown: the keys of a call's result may be secrets."""
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
    """Return the kind of a value in the language's words, for messages that must not show the value."""
    if isinstance(value, Function):
        return f"a call of {value.name}"
    if value is UNKNOWN:
        return "a value that is not known yet"
    return _KINDS.get(type(value), type(value).__name__)


def expect_list(arguments: object, count: int, what: str) -> list[Any]:
    """Return ``arguments`` if they are a list of ``count`` items.

    Raises:
        FunctionError: they are not; ``what`` describes the expected items in the message.
    """
    if not isinstance(arguments, list):
        raise FunctionError(f"expected a list of {what}, found {kind_of(arguments)}")
    if len(arguments) != count:
        raise FunctionError(f"expected {what}, found {len(arguments)} items")
    return arguments


def expect_text(value: object, *path: str | int) -> str:
    """Return ``value`` if it is text.

    Raises:
        FunctionError: it is not; ``path`` is its place.
    """
    if not isinstance(value, str):
        raise FunctionError(f"expected text, found {kind_of(value)}", path=path)
    return value


#: The types of arguments whose value is known only later: a call, or the value of a parameter that has none yet.
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
