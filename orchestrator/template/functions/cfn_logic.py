"""CFN's functions on conditions: Fn::If; and those that only conditions can call. Only the AWS format has them."""

from typing import ClassVar

from orchestrator.definition import StackDefinition
from orchestrator.template.functions.base import (
    Builder,
    Example,
    FunctionError,
    expect_list,
    kind_of,
)
from orchestrator.template.functions.logic import (
    And,
    ConditionName,
    Equals,
    If,
    Not,
    Or,
    check_condition,
    negated,
)
from orchestrator.template.versions import CFN_AWS_ONLY


class FnIf(If):
    """``Fn::If: [condition, value, other value]``: one of two values, chosen before any resource is created.

    The condition is a condition's name, true, false, or a call; null counts as true. The value that is not chosen is
    not evaluated: it may refer to what does not exist.
    """

    name = "Fn::If"
    lifetime = CFN_AWS_ONLY
    examples = (
        Example(
            "Fn::If: [production, 8192, 512]",
            512,
            {"stage": "test"},
            version="2010-09-09",
            sections={"Conditions": {"production": {"Fn::Equals": [{"Ref": "stage"}, "production"]}}},
        ),
    )

    @classmethod
    def expand(cls, arguments: object, builder: Builder) -> object:
        expect_list(arguments, 3, "a condition and two values")
        return super().expand(arguments, builder)


class FnEquals(Equals):
    """``Fn::Equals: [value, other]``: whether both are the same; a number is never the same as a text."""

    name = "Fn::Equals"
    in_conditions = CFN_AWS_ONLY
    examples = (Example("Fn::Equals: [{Ref: size}, '1']", False, {"size": 1}, version="2010-09-09"),)


class FnNot(Not):
    """``Fn::Not: [condition]``: whether the condition does not hold."""

    name = "Fn::Not"
    in_conditions = CFN_AWS_ONLY
    expected_items = (1, "one condition")
    examples: ClassVar[tuple[Example, ...]] = (
        Example("Fn::Not: [{Ref: small}]", False, {"small": True}, version="2010-09-09"),
    )

    def check(self) -> None:
        check_condition(self.arguments[0], self.scope, (0,))

    def call(self, arguments: list[object], stack: StackDefinition) -> object:
        return negated(arguments[0], self.scope, (0,))


class FnAnd(And):
    """``Fn::And: [condition, condition ...]``: whether all of at least two conditions hold."""

    name = "Fn::And"
    in_conditions = CFN_AWS_ONLY
    examples = (Example("Fn::And: [true, {Ref: small}]", True, {"small": True}, version="2010-09-09"),)


class FnOr(Or):
    """``Fn::Or: [condition, condition ...]``: whether any of at least two conditions holds."""

    name = "Fn::Or"
    in_conditions = CFN_AWS_ONLY
    examples = (Example("Fn::Or: [false, {Ref: small}]", True, {"small": True}, version="2010-09-09"),)


class NamedCondition(ConditionName):
    """``Condition: name``: whether the condition of that name holds; the name alone means the same."""

    name = "Condition"
    in_conditions = CFN_AWS_ONLY
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Condition: small",
            result=True,
            version="2010-09-09",
            sections={"Conditions": {"small": {"Fn::Equals": ["S", "S"]}}},
        ),
    )

    def check(self) -> None:
        if not isinstance(self.arguments, str):
            raise FunctionError(f"expected a condition's name, found {kind_of(self.arguments)}")
        super().check()
