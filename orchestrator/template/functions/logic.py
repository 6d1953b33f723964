"""Functions that decide: if, and what only conditions can call: equals, not, and, or."""

from typing import Any, ClassVar

from orchestrator.definition import UNKNOWN, StackDefinition
from orchestrator.template.document import Path
from orchestrator.template.functions.base import (
    ABSENT,
    LATER,
    Builder,
    Example,
    Function,
    FunctionError,
    Macro,
    Scope,
    kind_of,
)
from orchestrator.template.versions import NEVER, NEWTON, WALLABY, Lifetime


class If(Macro):
    """``if: [condition, value, other value]``: one of two values, decided before any resource is made.

    The condition is the name of one, true, false, or a call; null counts as true. The value that is not chosen is
    not looked at: it may refer to what does not exist. From wallaby on the other value may be left out: then, where the
    condition does not hold, the entry of the map or the item of the list goes.
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
    def expand(cls, arguments: Any, builder: Builder) -> Any:
        """Return the value that the condition chooses."""
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
    """The name of a condition, where a condition can stand."""

    name = "the condition"
    lifetime = NEVER

    def check(self) -> None:
        """Refuse a name that no condition has."""
        if self.scope.conditions is not None:
            self.scope.conditions.refuse_unknown(self.arguments)

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - the verdict has its own
        """Return whether the condition holds."""
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

    def check(self) -> None:
        """Refuse what is not a list of two."""
        expect_list(self.arguments, 2, "two values")

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return whether both are the same."""
        first, second = expect_list(arguments, 2, "two values")
        return bool(first == second)


class Not(Function):
    """``not: condition``: whether the condition does not hold."""

    name = "not"
    examples: ClassVar[tuple[Example, ...]] = (Example("not: {equals: [a, b]}", result=True),)
    lifetime = NEVER
    in_conditions = Lifetime(NEWTON)

    def check(self) -> None:
        """Refuse what is no condition."""
        self.arguments = as_condition(self.arguments, self.scope, self.path, ())

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return whether the condition does not hold."""
        return not arguments


class And(Function):
    """``and: [condition, condition ...]``: whether all of at least two conditions hold."""

    name = "and"
    examples: ClassVar[tuple[Example, ...]] = (
        Example("and: [{get_param: wide}, {get_param: high}]", False, {"wide": True, "high": False}),
    )
    lifetime = NEVER
    in_conditions = Lifetime(NEWTON)

    def check(self) -> None:
        """Refuse what is not a list of conditions."""
        self.arguments = as_conditions(self.arguments, self.scope, self.path)

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return whether all conditions hold."""
        return all(arguments)


class Or(Function):
    """``or: [condition, condition ...]``: whether any of at least two conditions holds."""

    name = "or"
    examples: ClassVar[tuple[Example, ...]] = (
        Example("or: [{get_param: wide}, {get_param: high}]", True, {"wide": True, "high": False}),
    )
    lifetime = NEVER
    in_conditions = Lifetime(NEWTON)

    def check(self) -> None:
        """Refuse what is not a list of conditions."""
        self.arguments = as_conditions(self.arguments, self.scope, self.path)

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return whether any condition holds."""
        return any(arguments)


def expect_list(arguments: Any, count: int, what: str) -> list[Any]:
    """Return ``arguments`` if they are a list of ``count`` items.

    Raises:
        FunctionError: they are not; the sentence says that ``what`` was expected.
    """
    if not isinstance(arguments, list):
        raise FunctionError(f"expected a list of {what}, found {kind_of(arguments)}")
    if len(arguments) != count:
        raise FunctionError(f"expected {what}, found {len(arguments)} items")
    return arguments


def as_conditions(arguments: Any, scope: Scope, path: Path) -> list[Any]:
    """Return a list of at least two operands, each as :func:`as_condition` has it.

    Raises:
        FunctionError: it is no such list.
    """
    if not isinstance(arguments, list):
        raise FunctionError(f"expected a list of conditions, found {kind_of(arguments)}")
    if len(arguments) < 2:
        raise FunctionError(f"expected at least two conditions, found {len(arguments)}")
    return [as_condition(operand, scope, path, (index,)) for index, operand in enumerate(arguments)]


def as_condition(operand: Any, scope: Scope, path: Path, place: Path) -> Any:
    """Return what a condition is built from: true, false, or a call; a name becomes one.

    Raises:
        FunctionError: it is none of them, or a name that no condition has.
    """
    if isinstance(operand, (bool, *LATER)):
        return operand
    if not isinstance(operand, str):
        message = f"expected a condition's name, true, false or a call, found {kind_of(operand)}"
        raise FunctionError(message, path=place)
    try:
        return ConditionName(operand, scope=scope, path=(*path, *place))
    except FunctionError as error:
        raise FunctionError(str(error), path=place, hint=error.hint) from None
