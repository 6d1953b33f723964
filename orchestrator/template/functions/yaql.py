"""The function that evaluates expressions of the query language YAQL: yaql."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Final

from orchestrator.definition import StackDefinition
from orchestrator.sandbox.budget import too_long
from orchestrator.sandbox.child import FAILED, TOO_DEEP, TOO_LONG, TOO_MUCH_MEMORY, Fault
from orchestrator.sandbox.process import DIED, TOO_LATE, UNFIT, USED_UP, Sandbox
from orchestrator.template.functions.base import (
    LATER,
    Departure,
    Example,
    Function,
    FunctionError,
    kind_of,
)
from orchestrator.template.versions import NEWTON, PIKE, Lifetime
from orchestrator.template.yaql_faults import LARGEST_VALUE, MOST_VALUES, Reason

#: In characters; syntax errors are cached by expression, so this bounds the memory that the cache takes.
_LONGEST_EXPRESSION: Final = 64 * 1024

_SANDBOX: Final = Sandbox("orchestrator.template.yaql_evaluation")


class Yaql(Function):
    """``yaql: {expression: text, data: value}``: the result of a YAQL expression for data.

    The expression reads the data as ``$.data``; without data, that is an empty map. The result is converted to plain
    data: lazy values and sets become lists (a set's items are sorted); keys of maps become text, as in JSON. A date is
    refused: let the expression convert it to text or a number. A separate process evaluates the expression; the
    settings yaql_seconds and yaql_memory_mib bound its cost.
    """

    name = "yaql"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "bounds",
            "200 items of an iterator and 10,000 bytes",
            "the settings `yaql_seconds` and `yaql_memory_mib`",
        ),
        Departure(
            "sets, lazy values and keys that are no text in the result",
            "returned as they are",
            "become sorted lists, lists and text; dates are refused",
        ),
    )
    lifetime = Lifetime(NEWTON)
    in_conditions = Lifetime(PIKE)
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "yaql: {expression: '$.data.ports.where($ > 1023).orderBy($)', data: {ports: [8080, 80, 4000]}}",
            [4000, 8080],
        ),
        Example(
            "yaql: {expression: '$.data.toDict($.name, $.size)', data: {get_param: disks}}",
            {"root": 10, "data": 200},
            {"disks": [{"name": "root", "size": 10}, {"name": "data", "size": 200}]},
        ),
        Example("yaql: {expression: '$.data.a + $.data.get(b, 5)', data: {a: 2}}", 7),
    )

    def check(self) -> None:
        if isinstance(self.arguments, LATER):
            return
        expression, _ = _parts(self.arguments)
        if not isinstance(expression, LATER):
            self._check_syntax(expression)

    def call(self, arguments: object, stack: StackDefinition) -> object:
        expression, data = _parts(arguments)
        try:
            return _SANDBOX.ask({"expression": expression, "data": data}, **self._bounds)
        except Fault as fault:
            raise self._error(fault, expression) from None

    @property
    def _bounds(self) -> dict[str, Any]:
        limits = self.scope.limits
        return {"seconds": limits.yaql_seconds, "memory_mib": limits.yaql_memory_mib}

    def _check_syntax(self, expression: str) -> None:
        try:
            wrong = _syntax_fault(expression, **self._bounds)
        except Fault as fault:
            raise self._error(fault, expression) from None
        if wrong is not None:
            raise self._error(Fault(Reason.SYNTAX, wrong), expression)

    def _error(self, fault: Fault, expression: str) -> FunctionError:
        """Return the error for a fault; it quotes the expression only where the template writes it out."""
        written = isinstance(self.arguments, dict) and self.arguments.get("expression") == expression
        if fault.kind == Reason.SYNTAX:
            position, found = fault.detail
            message = _syntax_sentence(position, found if written else None)
        elif fault.kind in _OWN_WORDS:
            message = _OWN_WORDS[fault.kind].format(fault.detail)
        elif fault.kind in _NAMING:
            named, nameless = _NAMING[fault.kind]
            shown = written and fault.detail and fault.detail in expression
            message = named.format(fault.detail) if shown else nameless
        elif fault.kind == USED_UP:
            message = too_long(self.scope.limits.evaluation_seconds)
        else:
            message = _PLAIN[fault.kind].format(**self._bounds)
        setting = _SETTINGS.get(fault.kind)
        hint = f"the bound is the setting {setting}" if setting else ""
        return FunctionError(message, path=("expression",), hint=hint)


def _parts(arguments: object) -> tuple[Any, Any]:
    """Return the expression (text, or known only later) and the data."""
    if not isinstance(arguments, dict):
        raise FunctionError(f"expected a map with 'expression' and 'data', found {kind_of(arguments)}")
    if "expression" not in arguments:
        raise FunctionError("the key 'expression' is missing", hint="expected 'expression' and 'data'")
    unknown = next((key for key in arguments if key not in ("expression", "data")), None)
    if unknown is not None:
        message, hint = f"there is no key {unknown!r} here", "expected 'expression' and 'data'"
        raise FunctionError(message, path=(unknown,), hint=hint)
    expression = arguments["expression"]
    if not isinstance(expression, (str, *LATER)):
        raise FunctionError(f"expected text, found {kind_of(expression)}", path=("expression",))
    if isinstance(expression, str) and len(expression) > _LONGEST_EXPRESSION:
        message = (
            f"the expression has {len(expression)} characters; at most {_LONGEST_EXPRESSION} are allowed"
        )
        raise FunctionError(message, path=("expression",))
    return expression, arguments.get("data", {})


@lru_cache(maxsize=256)
def _syntax_fault(expression: str, *, seconds: float, memory_mib: int) -> object:
    """Return the detail of an expression's syntax error; None if it has none."""
    try:
        _SANDBOX.ask({"expression": expression}, seconds=seconds, memory_mib=memory_mib)
    except Fault as fault:
        if fault.kind == Reason.SYNTAX:
            return fault.detail
        raise
    return None


def _syntax_sentence(position: int | None, found: str | None) -> str:
    if position is None:
        return "the expression ends too early"
    what = "something unexpected" if found is None else f"an unexpected {found!r}"
    return f"the expression has {what} at character {position + 1}"


#: Messages with a name that the expression contains, and without it.
_NAMING: Final[Mapping[str, tuple[str, str]]] = {
    Reason.NO_FUNCTION: (
        "there is no function, method or property {!r} of such values",
        "the expression calls a function, method or property that does not exist",
    ),
    Reason.NO_OVERLOAD: ("{!r} cannot take such values", "the expression calls what cannot take such values"),
    Reason.NO_KEY: ("a map has no key {!r}", "a map lacks a key that the expression reads"),
    Reason.ASSERTION: ("an assertion fails: {}", "an assertion of the expression fails"),
}
#: Messages with a detail that never is a value.
_OWN_WORDS: Final[Mapping[str, str]] = {
    Reason.NO_PLAIN_DATA: "the result holds {}, which is no plain data",
    FAILED: "the expression cannot be evaluated with such values ({})",
}
_PLAIN: Final[Mapping[str, str]] = {
    Reason.NO_ITEM: "a list has too few items for the expression",
    Reason.TOO_MANY: f"a list on the way, or the whole result, has more than {MOST_VALUES} values",
    Reason.TOO_LARGE: f"a value on the way takes more than {LARGEST_VALUE // 2**20} MiB",
    TOO_LONG: "the data or the result is too large",
    TOO_DEEP: "the expression or its result is nested too deep",
    TOO_LATE: "the expression takes longer than {seconds:g} seconds",
    TOO_MUCH_MEMORY: "the expression needs more than {memory_mib} MiB of memory",
    DIED: "the process that evaluates the expression broke down",
    UNFIT: "the data is not plain",
}
_SETTINGS: Final[Mapping[str, str]] = {
    TOO_LATE: "yaql_seconds",
    USED_UP: "evaluation_seconds",
    TOO_MUCH_MEMORY: "yaql_memory_mib",
}
