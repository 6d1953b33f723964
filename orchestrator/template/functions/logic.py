"""Functions on conditions: if; and those that only conditions can call: equals, not, and, or."""

from typing import Any, ClassVar

from orchestrator.definition import UNKNOWN, StackDefinition
from orchestrator.template.document import Path
from orchestrator.template.functions.base import (
    ABSENT,
    LATER,
    Builder,
    Departure,
    Example,
    Function,
    FunctionError,
    Macro,
    Scope,
    kind_of,
)
from orchestrator.template.versions import NEVER, NEWTON, WALLABY, Lifetime


class If(Macro):
    """``if: [condition, value, other value]``: one of two values, chosen before any resource is created.

    The condition is a condition's name, true, false, or a call; null counts as true. The value that is not chosen is
    not evaluated: it may refer to what does not exist. From wallaby on the other value may be left out: then the entry
    of the map or the item of the list is removed if the condition does not hold.
    """

    name = "if"
    lifetime = Lifetime(NEWTON)
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "if: [in_production, 3, 1]",
            3,
            {"stage": "production"},
            sections={"conditions": {"in_production": {"equals": [{"get_param": "stage"}, "production"]}}},
        ),
        Example("if: [{not: {get_param: spare}}, one, two]", "two", {"spare": True}),
        Example("if: [false, only then]", None),
    )

    @classmethod
    def expand(cls, arguments: object, builder: Builder) -> object:
        two_will_do = builder.scope.version >= WALLABY
        if not isinstance(arguments, list):
            raise FunctionError(f"expected a list of a condition and two values, found {kind_of(arguments)}")
        if len(arguments) != 3 and not (two_will_do and len(arguments) == 2):
            hint = "" if two_will_do else f"the last may be left out from heat_template_version {WALLABY} on"
            hint = hint if len(arguments) == 2 else ""
            raise FunctionError(
                f"expected a condition and two values, found {len(arguments)} items", hint=hint
            )
        holds = builder.condition(arguments[0], 0)
        if holds is UNKNOWN:
            return UNKNOWN
        chosen = 1 if holds else 2
        return builder.value(arguments[chosen], chosen) if chosen < len(arguments) else ABSENT


class ConditionName(Function):
    """A call that gives the value of a condition by its name."""

    lifetime = NEVER

    def check(self) -> None:
        _refuse_unknown(self.arguments, self.scope, ())

    def call(self, arguments: str, stack: StackDefinition) -> object:
        return UNKNOWN if self.scope.conditions is None else self.scope.conditions.verdict(arguments)


class Equals(Function):
    """``equals: [value, other]``: whether both are the same; a number is never the same as a text."""

    name = "equals"
    examples: ClassVar[tuple[Example, ...]] = (
        Example("equals: [{get_param: stage}, production]", True, {"stage": "production"}),
        Example("equals: ['1', 1]", result=False),
    )
    lifetime = NEVER
    in_conditions = Lifetime(NEWTON)
    pure = True
    expected_items = (2, "two values")

    def call(self, arguments: list[object], stack: StackDefinition) -> bool:
        first, second = arguments
        return first == second


class Not(Function):
    """``not: condition``: whether the condition does not hold."""

    name = "not"
    examples: ClassVar[tuple[Example, ...]] = (Example("not: {equals: [a, b]}", result=True),)
    lifetime = NEVER
    in_conditions = Lifetime(NEWTON)

    def check(self) -> None:
        check_condition(self.arguments, self.scope, ())

    def call(self, arguments: Any, stack: StackDefinition) -> object:
        return negated(arguments, self.scope, ())


class And(Function):
    """``and: [condition, condition ...]``: whether all of at least two conditions hold.

    The values of conditions after one that does not hold do not matter.
    """

    name = "and"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "null as an operand",
            "holds in `and` and `or`",
            "refused, as in `not`",
        ),
        Departure(
            "the name of an unknown condition behind a decided operand",
            "not noticed",
            "refused",
        ),
    )
    examples: ClassVar[tuple[Example, ...]] = (
        Example("and: [{get_param: wide}, {get_param: high}]", False, {"wide": True, "high": False}),
    )
    lifetime = NEVER
    in_conditions = Lifetime(NEWTON)

    def check(self) -> None:
        _check_conditions(self.arguments, self.scope)

    def call(self, arguments: list[object], stack: StackDefinition) -> object:
        return _decided(arguments, self.scope, by=False)


class Or(Function):
    """``or: [condition, condition ...]``: whether any of at least two conditions holds.

    The values of conditions after one that holds do not matter.
    """

    name = "or"
    examples: ClassVar[tuple[Example, ...]] = (
        Example("or: [{get_param: wide}, {get_param: high}]", True, {"wide": True, "high": False}),
    )
    lifetime = NEVER
    in_conditions = Lifetime(NEWTON)

    def check(self) -> None:
        _check_conditions(self.arguments, self.scope)

    def call(self, arguments: list[object], stack: StackDefinition) -> object:
        return _decided(arguments, self.scope, by=True)


def check_condition(operand: object, scope: Scope, place: Path) -> None:
    """Check that an operand is true, false, a call, or the name of a condition.

    Raises:
        FunctionError: it is something else, or a name that no condition has; ``place`` is its path.
    """
    if isinstance(operand, (bool, *LATER)):
        return
    if not isinstance(operand, str):
        message = f"expected a condition's name, true, false or a call, found {kind_of(operand)}"
        raise FunctionError(message, path=place)
    _refuse_unknown(operand, scope, place)


def negated(operand: object, scope: Scope, place: Path) -> object:
    """Return whether an operand, with its calls resolved, does not hold; ``UNKNOWN`` if that is not known yet.

    Raises:
        FunctionError: it is neither true, false nor the name of a condition; ``place`` is its path.
    """
    verdict = _verdict_of(operand, scope, place)
    return verdict if verdict is UNKNOWN else not verdict


def _check_conditions(arguments: object, scope: Scope) -> None:
    if not isinstance(arguments, list):
        raise FunctionError(f"expected a list of conditions, found {kind_of(arguments)}")
    if len(arguments) < 2:
        raise FunctionError(f"expected at least two conditions, found {len(arguments)}")
    for index, operand in enumerate(arguments):
        check_condition(operand, scope, (index,))


def _decided(operands: list[object], scope: Scope, *, by: bool) -> object:
    """Return ``by`` if an operand has this value, else the opposite; the operands after it are not judged."""
    for index, operand in enumerate(operands):
        verdict = _verdict_of(operand, scope, (index,))
        if verdict is UNKNOWN or verdict is by:
            return verdict
    return not by


def _verdict_of(operand: object, scope: Scope, place: Path) -> object:
    if scope.conditions is None:
        return UNKNOWN
    try:
        return scope.conditions.judged(operand)
    except FunctionError as error:
        raise FunctionError(str(error), path=place, hint=error.hint) from None


def _refuse_unknown(name: str, scope: Scope, place: Path) -> None:
    try:
        if scope.conditions is not None:
            scope.conditions.refuse_unknown(name)
    except FunctionError as error:
        raise FunctionError(str(error), path=place, hint=error.hint) from None
