"""Constraints on values: ranges, lengths, patterns, lists of allowed values.

Properties of resource types and parameters of templates use the same classes. A constraint is a small frozen
value; it converts nothing: it checks values that already have their type.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Final, TypeGuard

from hooks.values.dataclass import dataclass
from hooks.values.nearest import Nearest
from orchestrator.errors import NotVerified
from orchestrator.plugins.asking import NamedClients
from orchestrator.sandbox.child import Fault
from orchestrator.sandbox.process import TOO_LATE, Sandbox

#: Longer texts are cut in messages.
_SHOWN_LENGTH = 60
#: Longer lists of allowed values are cut in messages.
_SHOWN_VALUES = 20
#: The types of values that are looked up in a set.
_HASHABLE = (str, int, float, bool)


def shown(value: object) -> str:
    """Return ``value`` for a message: scalars as written, cut when long; of lists and maps only the kind."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Mapping():
            return "a map"
        case list() | tuple():
            return "a list"
    text = repr(value)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 4]}...{text[-1]}"


#: The time limit for matching one text with a plugin's pattern.
PATTERN_SECONDS: Final = 1.0
_PATTERN_MEMORY_MIB: Final = 256
_SANDBOX: Final = Sandbox("orchestrator.template.pattern_matching")
_ESCAPED: Final = r"(?s)\\."
_CHARACTERS: Final = r"\[\^?\]?[^\]]*\]"
_REPEATED: Final = r"[*+?{]"


def is_plain(pattern: str) -> bool:
    """Return whether a pattern certainly matches in time linear in the text's length.

    That holds with at most one repetition, and neither groups nor alternatives; of other patterns it is unknown.
    """
    text = re.sub(_CHARACTERS, "c", re.sub(_ESCAPED, "e", pattern))
    return not any(mark in text for mark in "(|") and len(re.findall(_REPEATED, text)) <= 1


class CannotEvaluate(Exception):
    """A constraint could not be evaluated; the message has the reason, and shows no value."""


@dataclass(frozen=True)
class Constraint(ABC):
    """Base of every constraint."""

    #: Replaces the message about a wrong value, when given.
    description: str = field(default="", kw_only=True)

    #: The kinds of values that it can check, of ``string number boolean list map``.
    valid_for: ClassVar[frozenset[str]] = frozenset({"string", "number", "boolean", "list", "map"})

    #: Whether a plugin implements it, which may not be installed, or query another system.
    is_custom: ClassVar[bool] = False

    @property
    def is_available(self) -> bool:
        """Whether it can be checked in this process: it needs no plugin that is missing."""
        return True

    def check(
        self, value: object, *, secret: bool = False, clients: NamedClients | None = None
    ) -> str | None:
        """Return a sentence about what is wrong with ``value``, or None if it satisfies the constraint.

        The sentence may contain the value unless that is a ``secret``: then it is the rule alone. Without ``clients``,
        no other system is queried, and constraints that need one are satisfied.

        Raises:
            NotVerified: another system could not be queried.
        """
        try:
            found = self.fault_by(value, clients)
        except CannotEvaluate as error:
            # Whether the rule is violated is unknown, so neither it nor the description would be true.
            return str(error)
        except NotVerified:
            if not secret:
                raise
            raise NotVerified(self.doubt()) from None
        if found is None:
            return None
        return self.describe() if secret or self.description else f"{found}; it {self.rule()}"

    def describe(self) -> str:
        """Return the description if one was given, else the rule in words, such as ``must be at least 1``."""
        return self.description or self.rule()

    def doubt(self) -> str:
        """Return the sentence that a value could not be verified, without the value."""
        return f"cannot check the value: it {self.rule()}"

    def fault_by(self, value: object, clients: NamedClients | None) -> str | None:  # noqa: ARG002  # for overrides
        """Return what is wrong with ``value``, as :meth:`fault` does, with queries of other systems by ``clients``.

        Raises:
            CannotEvaluate: the constraint could not be evaluated.
            NotVerified: another system could not be queried.
        """
        return self.fault(value)

    @abstractmethod
    def rule(self) -> str:
        """Return the rule in words, beginning with "must"."""

    @abstractmethod
    def fault(self, value: object) -> str | None:
        """Return what was found instead, beginning with the value or its measure, or None if the value is right.

        Raises:
            CannotEvaluate: the constraint could not be evaluated.
        """


@dataclass(frozen=True)
class Range(Constraint):
    """A number lies between two inclusive bounds, of which one may be None.

    Raises:
        ValueError: no bound is given, one is no number, or the lower one is above the upper.
    """

    min: float | None = None
    max: float | None = None

    valid_for = frozenset({"number"})

    def __post_init__(self) -> None:
        _check_bounds("range", self.min, self.max)

    def rule(self) -> str:
        """Return the bounds in words."""
        return f"must be {_bounds(self.min, self.max)}"

    def fault(self, value: object) -> str | None:
        """Return the value if it is outside; NaN lies in no range."""
        if not _is_number(value):
            return f"{shown(value)} is not a number"
        above = self.min is None or value >= self.min
        below = self.max is None or value <= self.max
        return None if above and below else f"{value} is out of range"


@dataclass(frozen=True)
class Length(Constraint):
    """The number of a text's characters, a list's items or a map's entries lies between two inclusive bounds.

    Messages contain the length and never the text, which is often a password.

    Raises:
        ValueError: no bound is given, one is negative or no number, or the lower one is above the upper.
    """

    min: int | None = None
    max: int | None = None

    valid_for = frozenset({"string", "list", "map"})

    def __post_init__(self) -> None:
        _check_bounds("length", self.min, self.max)
        if any(bound is not None and bound < 0 for bound in (self.min, self.max)):
            raise ValueError("a length cannot be negative")

    def describe(self) -> str:
        """Return the description, or the rule as a sentence of its own."""
        bounds = _bounds(self.min, self.max)
        return self.description or f"must have a length {'' if bounds.startswith('from') else 'of '}{bounds}"

    def rule(self) -> str:
        """Return the bounds in words, to follow a sentence about the length."""
        return f"must be {_bounds(self.min, self.max)}"

    def fault(self, value: object) -> str | None:
        """Return the length if it is outside."""
        if not isinstance(value, (Sequence, Mapping)):
            return f"{shown(value)} has no length"
        length = len(value)
        if (self.min is None or length >= self.min) and (self.max is None or length <= self.max):
            return None
        return f"the length is {length}"


@dataclass(frozen=True)
class Modulo(Constraint):
    """A number leaves the remainder ``offset`` when divided by ``step``.

    Raises:
        ValueError: ``step`` is zero, ``offset`` is not smaller than it, or their signs differ.
    """

    step: int
    offset: int

    valid_for = frozenset({"number"})

    def __post_init__(self) -> None:
        if self.step == 0:
            raise ValueError("the step of a modulo cannot be 0")
        if abs(self.offset) >= abs(self.step):
            raise ValueError(f"the offset {self.offset} must be smaller than the step {self.step}")
        if self.offset * self.step < 0:
            raise ValueError(f"the step {self.step} and the offset {self.offset} must have the same sign")

    def rule(self) -> str:
        """Return the rule in words."""
        remainder = f" plus {self.offset}" if self.offset else ""
        return f"must be a multiple of {self.step}{remainder}"

    def fault(self, value: object) -> str | None:
        """Return the value if it leaves another remainder."""
        if not _is_number(value):
            return f"{shown(value)} is not a number"
        return None if value % self.step == self.offset else f"{value} does not fit"


@dataclass(frozen=True)
class AllowedValues(Constraint):
    """A value, or every item of a list, is one of those listed. Nothing is converted before comparing.

    Raises:
        ValueError: the list is empty, or a text.
    """

    values: tuple[Any, ...]
    #: The hashable values: comparing a long list with a long list of allowed values must not take minutes.
    _known: frozenset[tuple[bool, Any]] = field(init=False, repr=False, compare=False)

    valid_for = frozenset({"string", "number", "boolean", "list"})

    def __post_init__(self) -> None:
        given: object = self.values
        if isinstance(given, str):
            raise ValueError(f"expected a tuple of allowed values, found {shown(given)}")
        if not self.values:
            raise ValueError("the list of allowed values is empty")
        known = frozenset(_key(value) for value in self.values if isinstance(value, _HASHABLE))
        object.__setattr__(self, "_known", known)

    def rule(self) -> str:
        """Return the allowed values, the first twenty of them."""
        listed = ", ".join(shown(value) for value in self.values[:_SHOWN_VALUES])
        more = len(self.values) - _SHOWN_VALUES
        return f"must be one of {listed}" + (f" or {more} more" if more > 0 else "")

    def fault(self, value: object) -> str | None:
        """Return the first value that is not allowed, with the nearest allowed one."""
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, _HASHABLE) and _key(item) in self._known:
                continue
            if not any(_same(item, allowed) for allowed in self.values):
                return f"{shown(item)} is not allowed{self._nearest(item)}"
        return None

    def _nearest(self, item: object) -> str:
        texts = [value for value in self.values if isinstance(value, str)]
        near = Nearest().among(item, texts) if isinstance(item, str) else None
        return "" if near is None else f", did you mean {near!r}?"


@dataclass(frozen=True)
class AllowedPattern(Constraint):
    """A text matches a regular expression (Python's) as a whole.

    The pattern is a plugin author's, but the text may be a hostile user's, and some patterns take years for some texts:
    such patterns are matched within bounds.

    Raises:
        ValueError: the pattern is no regular expression.
    """

    pattern: str

    valid_for = frozenset({"string"})

    def __post_init__(self) -> None:
        self.compile()

    def compile(self) -> None:
        """Check that the pattern is a regular expression.

        Raises:
            ValueError: it is none.
        """
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"{self.pattern!r} is no regular expression: {error}") from error

    def matches(self, text: str) -> bool:
        """Return whether the whole of ``text`` matches.

        Raises:
            CannotEvaluate: matching takes too long.
        """
        if is_plain(self.pattern):
            return re.fullmatch(self.pattern, text) is not None
        question = {"pattern": self.pattern, "text": text}
        try:
            return bool(_SANDBOX.ask(question, seconds=PATTERN_SECONDS, memory_mib=_PATTERN_MEMORY_MIB))
        except Fault as fault:
            late = (
                f"took longer than {PATTERN_SECONDS:g} s"
                if fault.kind == TOO_LATE
                else "could not be matched"
            )
            raise CannotEvaluate(f"the pattern {shown(self.pattern)} {late}") from None

    def rule(self) -> str:
        """Return the rule in words."""
        return f"must match the pattern {self.pattern!r} as a whole"

    def fault(self, value: object) -> str | None:
        """Return the value if it does not match.

        Raises:
            CannotEvaluate: matching takes too long.
        """
        if not isinstance(value, str):
            return f"{shown(value)} is not a text"
        return None if self.matches(value) else f"{shown(value)} does not match"


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _key(value: object) -> tuple[bool, object]:
    return isinstance(value, bool), value


def _same(value: object, allowed: object) -> bool:
    # In Python, True == 1, but a list that allows 1 does not allow true.
    return value == allowed and isinstance(value, bool) == isinstance(allowed, bool)


def _check_bounds(what: str, low: float | None, high: float | None) -> None:
    if low is None and high is None:
        raise ValueError(f"a {what} needs a min or a max")
    for bound in (low, high):
        if bound is not None and not _is_number(bound):
            raise ValueError(f"the bound {shown(bound)} of a {what} is no number")
    if low is not None and high is not None and low > high:
        raise ValueError(f"the min {low} of a {what} is above its max {high}")


def _bounds(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"exactly {low}" if low == high else f"from {low} to {high}"
    return f"at least {low}" if low is not None else f"at most {high}"
