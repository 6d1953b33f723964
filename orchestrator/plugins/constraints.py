"""What a value must hold: ranges, lengths, patterns, lists of allowed values.

Properties of resource types and parameters of templates use the same classes. A constraint is a small frozen
value; it converts nothing: it is asked about values that already have their type.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from hooks.values.nearest import Nearest
from orchestrator.errors import NotVerified
from orchestrator.plugins.asking import AskedClients
from orchestrator.sandbox.child import Fault
from orchestrator.sandbox.process import TOO_LATE, Sandbox

#: Longer texts are cut in sentences for people.
_SHOWN_LENGTH = 60
#: Longer lists of allowed values are cut in sentences for people.
_SHOWN_VALUES = 20
#: The types of values whose equality a set finds.
_HASHABLE = (str, int, float, bool)


def shown(value: object) -> str:
    """Return ``value`` for a sentence: scalars as written, cut when long; of lists and maps only the kind."""
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


#: What a pattern of a plugin may take to match one text.
PATTERN_SECONDS: Final = 1.0
_PATTERN_MEMORY_MIB: Final = 256
_SANDBOX: Final = Sandbox("orchestrator.template.pattern_matching")
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_CHARACTERS: Final = re.compile(r"\[\^?\]?[^\]]*\]")
_REPEATED: Final = re.compile(r"[*+?{]")


def is_plain(pattern: str) -> bool:
    """Tell whether the time that a pattern takes can only grow with the text's length, and not faster.

    So it is with one repetition at most, and neither groups nor alternatives; of others nobody knows without a proof.
    """
    text = _CHARACTERS.sub("c", _ESCAPED.sub("e", pattern))
    return not any(mark in text for mark in "(|") and len(_REPEATED.findall(text)) <= 1


class Unanswered(Exception):
    """A constraint cannot say whether it holds; the sentence says why, and shows no value."""


@dataclass(frozen=True)
class Constraint(ABC):
    """Base of every constraint."""

    #: Replaces the sentence that says what is wrong, when given.
    description: str = field(default="", kw_only=True)

    #: Of ``string number boolean list map``, the kinds of value it can be asked about.
    valid_for: ClassVar[frozenset[str]] = frozenset({"string", "number", "boolean", "list", "map"})

    #: Whether a package brings what answers, which may not be installed, or ask another system.
    is_custom: ClassVar[bool] = False

    @property
    def needs_nothing(self) -> bool:
        """Whether it can be asked here: it needs no plugin that is missing."""
        return True

    def check(self, value: Any, *, secret: bool = False, clients: AskedClients | None = None) -> str | None:
        """Return a sentence that says what is wrong with ``value``, or None when nothing is.

        The sentence may name the value unless that is a ``secret``: then it says no more than the rule. Without
        ``clients``, no other system is asked: what only such a one knows is not found wrong.

        Raises:
            NotVerified: another system was to be asked, and does not tell.
        """
        try:
            found = self.fault_by(value, clients)
        except Unanswered as error:
            # Nobody knows whether the rule is broken, so neither it nor the description says what is wrong.
            return str(error)
        except NotVerified:
            if not secret:
                raise
            raise NotVerified(self.doubt()) from None
        if found is None:
            return None
        return self.describe() if secret or self.description else f"{found}; it {self.rule()}"

    def describe(self) -> str:
        """Return the rule in words, such as ``must be at least 1``; or the description if one was given."""
        return self.description or self.rule()

    def doubt(self) -> str:
        """Return the sentence that nobody can tell just now whether a value is right, without the value."""
        return f"nobody can tell whether it is right: it {self.rule()}"

    def fault_by(self, value: Any, clients: AskedClients | None) -> str | None:  # noqa: ARG002  # for those who ask
        """Return what is wrong with ``value``, as :meth:`fault` does; other systems may be asked by ``clients``."""
        return self.fault(value)

    @abstractmethod
    def rule(self) -> str:
        """Return the rule in words, beginning with "must"."""

    @abstractmethod
    def fault(self, value: Any) -> str | None:
        """Return what was found instead, beginning with the value or its measure, or None if all is well.

        Raises:
            Unanswered: that cannot be said.
        """


@dataclass(frozen=True)
class Range(Constraint):
    """A number lies between two bounds, which it may reach; a bound that is None does not bind.

    Raises:
        ValueError: no bound is given, or the lower one is above the upper.
    """

    min: float | None = None
    max: float | None = None

    valid_for = frozenset({"number"})

    def __post_init__(self) -> None:
        _check_bounds("range", self.min, self.max)

    def rule(self) -> str:
        """Return the bounds in words."""
        return f"must be {_bounds(self.min, self.max)}"

    def fault(self, value: Any) -> str | None:
        """Return the value when it is outside; NaN lies in no range."""
        if not _is_number(value):
            return f"{shown(value)} is not a number"
        above = self.min is None or value >= self.min
        below = self.max is None or value <= self.max
        return None if above and below else f"{value} is out of range"


@dataclass(frozen=True)
class Length(Constraint):
    """A text has so many characters, a list so many items, a map so many entries; both bounds may be reached.

    The sentence says the length and never the text, which is often a password.

    Raises:
        ValueError: no bound is given, one is negative, or the lower one is above the upper.
    """

    min: int | None = None
    max: int | None = None

    valid_for = frozenset({"string", "list", "map"})

    def __post_init__(self) -> None:
        _check_bounds("length", self.min, self.max)
        if any(bound is not None and bound < 0 for bound in (self.min, self.max)):
            raise ValueError("a length cannot be negative")

    def describe(self) -> str:
        """Return the rule in words that stand by themselves."""
        bounds = _bounds(self.min, self.max)
        return self.description or f"must have a length {'' if bounds.startswith('from') else 'of '}{bounds}"

    def rule(self) -> str:
        """Return the bounds in words, to follow a sentence about the length."""
        return f"must be {_bounds(self.min, self.max)}"

    def fault(self, value: Any) -> str | None:
        """Return the length when it is outside."""
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

    def fault(self, value: Any) -> str | None:
        """Return the value when it leaves another remainder."""
        if not _is_number(value):
            return f"{shown(value)} is not a number"
        return None if value % self.step == self.offset else f"{value} does not fit"


@dataclass(frozen=True)
class AllowedValues(Constraint):
    """A value is one of those listed; of a list, every item is. Nothing is converted before comparing.

    Raises:
        ValueError: nothing is allowed at all.
    """

    values: tuple[Any, ...]
    #: The values that can be looked up at once: a long list against a long list of them must not take minutes.
    _known: frozenset[tuple[bool, Any]] = field(init=False, repr=False, compare=False)

    valid_for = frozenset({"string", "number", "boolean", "list"})

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("the list of allowed values is empty")
        known = frozenset(_key(value) for value in self.values if isinstance(value, _HASHABLE))
        object.__setattr__(self, "_known", known)

    def rule(self) -> str:
        """Return the allowed values, the first twenty of them."""
        listed = ", ".join(shown(value) for value in self.values[:_SHOWN_VALUES])
        more = len(self.values) - _SHOWN_VALUES
        return f"must be one of {listed}" + (f" or {more} more" if more > 0 else "")

    def fault(self, value: Any) -> str | None:
        """Return the first value that is not allowed, with the nearest that is."""
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, _HASHABLE) and _key(item) in self._known:
                continue
            if not any(_same(item, allowed) for allowed in self.values):
                return f"{shown(item)} is not allowed{self._nearest(item)}"
        return None

    def _nearest(self, item: Any) -> str:
        texts = [value for value in self.values if isinstance(value, str)]
        near = Nearest().among(item, texts) if isinstance(item, str) else None
        return "" if near is None else f", did you mean {near!r}?"


@dataclass(frozen=True)
class AllowedPattern(Constraint):
    """A text matches a regular expression (Python's) as a whole.

    The pattern is its author's, but the text may be anybody's, and some patterns take years for some texts: those that
    may are matched within bounds.

    Raises:
        ValueError: the pattern is no regular expression.
    """

    pattern: str

    valid_for = frozenset({"string"})

    def __post_init__(self) -> None:
        self.compile()

    def compile(self) -> None:
        """Refuse a pattern that is no regular expression.

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
            Unanswered: that takes too long.
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
            raise Unanswered(f"the pattern {shown(self.pattern)} {late}") from None

    def rule(self) -> str:
        """Return the rule in words."""
        return f"must match the pattern {self.pattern!r} as a whole"

    def fault(self, value: Any) -> str | None:
        """Return the value when it does not match."""
        if not isinstance(value, str):
            return f"{shown(value)} is not a text"
        return None if self.matches(value) else f"{shown(value)} does not match"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _key(value: Any) -> tuple[bool, Any]:
    return isinstance(value, bool), value


def _same(value: object, allowed: object) -> bool:
    # True == 1 in Python, but a list that allows 1 does not allow true.
    return value == allowed and isinstance(value, bool) == isinstance(allowed, bool)


def _check_bounds(what: str, low: float | None, high: float | None) -> None:
    if low is None and high is None:
        raise ValueError(f"a {what} needs a min or a max")
    if low is not None and high is not None and low > high:
        raise ValueError(f"the min {low} of a {what} is above its max {high}")


def _bounds(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"exactly {low}" if low == high else f"from {low} to {high}"
    return f"at least {low}" if low is not None else f"at most {high}"
