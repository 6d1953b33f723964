"""Conditions of a template, evaluated with the values of its parameters."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from orchestrator.definition import UNKNOWN, StackDefinition
from orchestrator.errors import Problem, cut
from orchestrator.sandbox.budget import check_time
from orchestrator.template.document import Path
from orchestrator.template.expressions import Expression, ExpressionParser
from orchestrator.template.functions.base import FunctionError, KnownNames, ResolveError, kind_of
from orchestrator.template.sections import SectionReader

_HINT: Final = "a parameter of the type boolean is true or false; 'equals' compares other values"


class _Undecided(Exception):
    """The condition under evaluation needs another one first, whose name a call gave."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


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
        #: The calls that stand in place of a condition's name.
        self._inline: list[Expression] = []
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

    def warnings(self) -> Iterator[Problem]:
        """Yield a warning for each part of a condition that is accepted, though perhaps not meant."""
        for expression in (*self._expressions.values(), *self._inline):
            yield from expression.warnings()

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
            FunctionError: there is none of this name, or it refers to itself.
            _Undecided: another condition is being evaluated, and needs this one first.
        """
        self.refuse_unknown(name)
        if name in self._under_way:
            names = list(self._under_way)
            circle = " -> ".join((*names[names.index(name) :], name))
            raise FunctionError(f"conditions refer to each other in a circle: {circle}")
        if name not in self._verdicts and self._under_way:
            raise _Undecided(name)
        if name not in self._verdicts:
            self._decide(name)
        return self._verdicts[name]

    def judged(self, value: object) -> Any:
        """Return whether a computed condition holds: true, false, or the name of a condition.

        ``UNKNOWN`` if that depends on a value not known yet.

        Raises:
            FunctionError: ``value`` is something else; the message does not show it, since it may be a secret.
            _Undecided: see :meth:`verdict`.
        """
        if isinstance(value, bool) or value is UNKNOWN:
            return value
        if isinstance(value, str) and value in self._section:
            return self.verdict(value)
        found = "text that names none" if isinstance(value, str) else kind_of(value)
        raise FunctionError(f"expected true, false or the name of a condition, found {found}", hint=_HINT)

    def _decide(self, name: str) -> None:
        """Evaluate a condition, and those whose values it needs; iterative, for a chain may exceed Python's stack."""
        self._under_way[name] = None
        try:
            while self._under_way:
                current = next(reversed(self._under_way))
                check_time(partial(self._reader.positions.problem, (*self._path, current)))
                try:
                    self._verdicts[current] = self._of_section(current)
                    del self._under_way[current]
                except _Undecided as error:
                    # It is evaluated again after the one that it needs.
                    self._under_way[error.name] = None
        finally:
            self._under_way.clear()

    def _of_section(self, name: str) -> object:
        """Return the value of a condition of the section; ``UNKNOWN``, with a problem recorded, if it is no boolean."""
        try:
            value = self._expressions[name].resolve(self._parameters)
        except ResolveError as error:
            self._reader.problems.append(error.problem)
            return UNKNOWN
        if isinstance(value, bool) or value is UNKNOWN:
            return value
        message = f"expected a condition that is true or false, found {kind_of(value)}"
        self._reader.fault((*self._path, name), message, _HINT)
        return UNKNOWN

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
        self._inline.append(expression)
        if not isinstance(expression.plain, bool) and not expression.is_call:
            found = kind_of(expression.plain)
            raise FunctionError(f"expected a condition's name, true, false or a call, found {found}")
        try:
            value = expression.resolve(self._parameters)
        except ResolveError as error:
            self._reader.problems.append(error.problem)
            return UNKNOWN
        return self.judged(value)
