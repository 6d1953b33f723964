"""Conditions of a template, evaluated with the values of its parameters."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from orchestrator.definition import UNKNOWN, StackDefinition
from orchestrator.errors import cut
from orchestrator.sandbox.budget import check_time
from orchestrator.template.document import Path
from orchestrator.template.expressions import Expression, ExpressionParser
from orchestrator.template.functions.base import FunctionError, KnownNames, ResolveError, kind_of
from orchestrator.template.functions.logic import ConditionName
from orchestrator.template.sections import SectionReader


class Conditions:
    """The section ``conditions``; each condition is evaluated once, when first needed."""

    def __init__(
        self, section: Mapping[str, object], path: Path, reader: SectionReader, parameters: StackDefinition
    ) -> None:
        """Keep the section at ``path``; :meth:`read` builds its conditions."""
        self._section, self._path, self._reader, self._parameters = section, path, reader, parameters
        self._expressions: dict[str, Expression] = {}
        self._verdicts: dict[str, Any] = {}
        #: The conditions being evaluated, each needed by the one before it.
        self._under_way: dict[str, None] = {}
        self._parser: ExpressionParser

    def read(self, parser: ExpressionParser, names: KnownNames) -> None:
        """Build every condition, and record the problems."""
        self._parser = parser
        for name, raw in self._section.items():
            check_time(partial(self._reader.positions.problem, (*self._path, name)))
            expression = self._read(raw, (*self._path, name), names)
            if expression is None:
                self._verdicts[name] = UNKNOWN
            else:
                self._expressions[name] = expression

    def _read(self, raw: object, path: Path, names: KnownNames) -> Expression | None:
        """Return the expression of a condition; None, after recording a problem, if it is no condition."""
        before = len(self._reader.problems)
        expression = self._parser.parse_condition(raw, path)
        self._reader.problems.extend(expression.missing(names, self._reader.nearest))
        if len(self._reader.problems) == before:
            self._refuse_resources(expression)
        if len(self._reader.problems) > before:
            return None
        if isinstance(expression.plain, bool) or expression.is_call:
            return expression
        hint = "use it by its name where a condition can stand" if isinstance(raw, str) else ""
        found = kind_of(expression.plain)
        self._reader.fault(path, f"expected a condition: true, false or a call, found {found}", hint)
        return None

    def _refuse_resources(self, expression: Expression) -> None:
        """Record a problem for each call that refers to a resource: none exists when conditions are evaluated."""
        for call in expression.calls:
            if any(call.dependencies()):
                hint = "this is decided before any resource is made"
                error = FunctionError(f"{call.name} of a resource cannot stand in a condition", hint=hint)
                self._reader.problems.append(call.problem(error))

    def refuse_unknown(self, name: str) -> None:
        """Check that a condition with this name exists.

        Raises:
            FunctionError: there is none; the hint names the nearest.
        """
        if name not in self._section:
            hint = self._reader.nearest.hint(name, self._section)
            raise FunctionError(f"there is no condition {cut(name)!r}", hint=hint)

    def verdict(self, name: str) -> Any:
        """Return whether the condition holds; ``UNKNOWN`` if that depends on a value not known yet.

        Raises:
            FunctionError: it refers to itself.
        """
        self.refuse_unknown(name)
        if name in self._verdicts:
            return self._verdicts[name]
        if name in self._under_way:
            names = list(self._under_way)
            circle = " -> ".join((*names[names.index(name) :], name))
            raise FunctionError(f"conditions refer to each other in a circle: {circle}")
        self._decide(name)
        return self._verdicts[name]

    def _decide(self, name: str) -> None:
        """Evaluate a condition, after those it refers to; iterative, for a chain may exceed the interpreter's stack."""
        waiting = [(name, self._named_by(name))]
        self._under_way[name] = None
        try:
            while waiting:
                current, named = waiting[-1]
                needed = next((each for each in named if self._is_open(each)), None)
                if needed is not None:
                    waiting.append((needed, self._named_by(needed)))
                    self._under_way[needed] = None
                    continue
                self._verdicts[current] = self._evaluate(self._expressions[current])
                waiting.pop()
                del self._under_way[current]
        finally:
            for each, _ in waiting:
                del self._under_way[each]

    def _is_open(self, name: str) -> bool:
        """Whether a condition is still to be evaluated; :meth:`verdict` refuses one that is under way as a circle."""
        return name not in self._verdicts and name not in self._under_way

    def _named_by(self, name: str) -> Iterator[str]:
        for call in self._expressions[name].calls:
            operands = call.arguments if isinstance(call.arguments, list) else [call.arguments]
            yield from (each.arguments for each in (call, *operands) if isinstance(each, ConditionName))

    def verdicts(self) -> dict[str, bool | None]:
        """Return the value of each condition; None where it is not known, or cannot be evaluated."""
        found: dict[str, bool | None] = {}
        for name in self._section:
            try:
                verdict = self.verdict(name)
            except FunctionError:
                verdict = UNKNOWN
            found[name] = None if verdict is UNKNOWN else verdict
        return found

    def holds(self, raw: object, path: Path) -> Any:
        """Return whether the condition at ``path`` holds: a condition's name, true, false, null (true), or a call.

        ``UNKNOWN`` if that depends on a value not known yet, or if it has a mistake, which is recorded.
        """
        if raw is None or isinstance(raw, bool):
            return raw is not False
        if not isinstance(raw, (str, dict)):
            message = f"expected a condition's name, true, false or a call, found {kind_of(raw)}"
            self._reader.fault(path, message)
            return UNKNOWN
        try:
            return self.verdict(raw) if isinstance(raw, str) else self._of_call(raw, path)
        except FunctionError as error:
            self._reader.fault((*path, *error.path), str(error), error.hint)
            return UNKNOWN

    def _of_call(self, raw: dict[str, object], path: Path) -> object:
        before = len(self._reader.problems)
        expression = self._parser.parse_condition(raw, path)
        if len(self._reader.problems) == before:
            self._refuse_resources(expression)
        if len(self._reader.problems) > before:
            return UNKNOWN
        if not isinstance(expression.plain, bool) and not expression.is_call:
            found = kind_of(expression.plain)
            raise FunctionError(f"expected a condition's name, true, false or a call, found {found}")
        return self._evaluate(expression)

    def _evaluate(self, expression: Expression) -> object:
        try:
            value = expression.resolve(self._parameters)
        except ResolveError as error:
            self._reader.problems.append(error.problem)
            return UNKNOWN
        return UNKNOWN if value is UNKNOWN else bool(value)
