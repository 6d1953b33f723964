"""Child process that evaluates YAQL expressions; see :mod:`orchestrator.sandbox.process`.

A question is a map with an expression, and with its data, which it reads as ``$.data``. Without data, only the syntax
is checked, and the answer is null.
"""

# The library uses it without importing it.
import collections.abc
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, Final

import yaql
from yaql.language import exceptions

from orchestrator.sandbox.child import TOO_DEEP, Fault, serve
from orchestrator.template.yaql_faults import LARGEST_VALUE, MOST_VALUES, Reason

#: The limit of a result's depth, as of documents.
DEEPEST: Final = 200
_OPTIONS: Final = {
    "yaql.limitIterators": MOST_VALUES,
    "yaql.memoryQuota": LARGEST_VALUE,
    # Results are converted here, where their size is counted.
    "yaql.convertOutputData": False,
}
#: Names of functions in the library's messages; operators have one of these before them.
_NAME: Final = re.compile(r'[\w ]*"(?:#operator_|#unary_operator_|#property#)?([^"]*)"')
_LONGEST_DETAIL: Final = 200
_KEYS: Final = {True: "true", False: "false", None: "null"}


class _Evaluator:
    def __init__(self) -> None:
        self._parse = yaql.YaqlFactory().create(_OPTIONS)
        self._context = yaql.create_context()

    def answer(self, question: dict[str, object]) -> object:
        try:
            statement = self._parse(question["expression"])
            if "data" not in question:
                return None
            # Definitions of the expression are dropped with its context.
            context = self._context.create_child_context()
            found = statement.evaluate(data={"data": question["data"]}, context=context)
            # Lazy parts are evaluated, and may fail, while the result is converted.
            return _Plain().of(found)
        except Exception as error:  # noqa: BLE001 (the library raises what it likes)
            raise _fault_of(error) from None


class _Plain:
    def __init__(self) -> None:
        self._values = 0

    def of(self, value: object, depth: int = 0) -> object:
        self._values += 1
        if self._values > MOST_VALUES:
            raise Fault(Reason.TOO_MANY)
        if depth > DEEPEST:
            raise Fault(TOO_DEEP)
        if isinstance(value, (str, int, float)) or value is None:
            return _scalar(value)
        if isinstance(value, Mapping):
            return self._map(value, depth)
        if isinstance(value, Set) and not isinstance(value, collections.abc.MappingView):
            return _in_order([self.of(item, depth + 1) for item in value])
        if isinstance(value, Iterable):
            return [self.of(item, depth + 1) for item in value]
        raise Fault(Reason.NO_PLAIN_DATA, f"a {type(value).__name__}")

    def _map(self, value: Mapping[object, object], depth: int) -> dict[str, object]:
        plain = {_key(key): self.of(item, depth + 1) for key, item in value.items()}
        if len(plain) < len(value):
            raise Fault(Reason.NO_PLAIN_DATA, "a map with two keys that are the same as text")
        return plain


def _scalar(value: object) -> object:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Fault(Reason.NO_PLAIN_DATA, "text with half of a surrogate pair") from None
    elif isinstance(value, float) and not math.isfinite(value):
        raise Fault(Reason.NO_PLAIN_DATA, "a number that is not finite")
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise Fault(Reason.NO_PLAIN_DATA, "a whole number that does not fit 64 bits")
    return value


def _key(key: object) -> str:
    if isinstance(key, str):
        return str(_scalar(key))
    if isinstance(key, bool) or key is None:
        return _KEYS[key]
    if isinstance(key, (int, float)):
        return repr(_scalar(key))
    raise Fault(Reason.NO_PLAIN_DATA, "a map whose keys are no text")


def _in_order(items: list[object]) -> list[Any]:
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=lambda item: (type(item).__name__, repr(item)))


def _fault_of(error: Exception) -> Exception:
    """Return an error of the library as a fault without values in it; an unknown error unchanged."""
    if isinstance(error, exceptions.WrappedException):
        return _fault_of(error.wrapped)
    for kinds, reason, detail in _FAULTS:
        if isinstance(error, kinds):
            return Fault(reason, detail(error))
    return error


def _place_in(error: Any) -> list[object]:
    return [error.position, None if error.value is None else _cut(error.value)]


def _name_in(error: Exception) -> str:
    found = _NAME.match(str(error))
    return _cut(found[1]) if found else ""


def _key_in(error: KeyError) -> str:
    return _cut(error.args[0]) if error.args else ""


def _cut(value: object) -> str:
    return str(value)[:_LONGEST_DETAIL]


def _nothing(_error: object) -> None:
    return None


#: Classes of errors, their reason, and the function that returns the detail; the first match counts.
_FAULTS: Final[tuple[tuple[tuple[type[Exception], ...], Reason, Callable[[Any], Any]], ...]] = (
    ((exceptions.YaqlParsingException,), Reason.SYNTAX, _place_in),
    (
        (exceptions.NoFunctionRegisteredException, exceptions.NoMethodRegisteredException),
        Reason.NO_FUNCTION,
        _name_in,
    ),
    ((exceptions.ResolutionError,), Reason.NO_OVERLOAD, _name_in),
    ((exceptions.CollectionTooLargeException,), Reason.TOO_MANY, _nothing),
    ((exceptions.MemoryQuotaExceededException,), Reason.TOO_LARGE, _nothing),
    ((KeyError,), Reason.NO_KEY, _key_in),
    ((IndexError, StopIteration), Reason.NO_ITEM, _nothing),
    ((AssertionError,), Reason.ASSERTION, _cut),
)


if __name__ == "__main__":
    serve(_Evaluator().answer, memory_mib=int(sys.argv[1]))
