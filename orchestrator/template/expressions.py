"""Find the calls in a part of a template, and build them.

A map with exactly one key that names a function of the template's version is a call; everything else is data.
"""

from collections.abc import Collection, Iterator
from typing import Any

from orchestrator.definition import AttributePath, StackDefinition
from orchestrator.errors import Problem
from orchestrator.template.document import Path, Positions
from orchestrator.template.functions.base import Function, FunctionError, KnownNames, is_open, resolve
from orchestrator.template.functions.references import UnknownName
from orchestrator.template.functions.registry import functions_of
from orchestrator.template.nearest import Nearest
from orchestrator.template.versions import FUNCTIONS, HotVersion


class Expression:
    """A value of a template: data, and the calls in it. Immutable."""

    __slots__ = ("_value", "calls")

    def __init__(self, value: Any, calls: tuple[Function, ...] = ()) -> None:
        self._value = value
        #: Every call, the inner ones before those around them.
        self.calls = calls

    def resolve(self, stack: StackDefinition) -> Any:
        """Return the value with its calls evaluated; maps and lists are fresh ones.

        Raises:
            ResolveError: a call failed.
        """
        return resolve(self._value, stack)

    def covered(self, path: Path, hidden: Collection[str]) -> Path | None:
        """Return None if what is at ``path`` may be shown, else so much of ``path`` as may be shown.

        Shown is what the template itself says, and what it makes of parameters that are not ``hidden``.
        """
        value = self._value
        for depth, step in enumerate(path):
            if isinstance(value, Function):
                # What follows are steps into its result, whose very keys may be secrets.
                return None if is_open(value, hidden) else path[:depth]
            try:
                value = value[step]
            except (LookupError, TypeError):
                break
        return None if is_open(value, hidden) else path

    def requirements(self) -> Iterator[str]:
        """Return the names of the resources that must be complete first."""
        for call in self.calls:
            yield from call.dependencies()

    def required_attributes(self) -> Iterator[tuple[str, AttributePath]]:
        """Return the attributes that must be collected."""
        for call in self.calls:
            yield from call.required_attributes()

    def missing(self, names: KnownNames, nearest: Nearest) -> Iterator[Problem]:
        """Return a problem for each call that refers to something that does not exist."""
        for call in self.calls:
            error = call.missing(names)
            if isinstance(error, UnknownName):
                error.hint = nearest.hint(error.name, error.known)
            if error:
                yield call.problem(error)


class ExpressionParser:
    """Builds the expressions of one document; what is wrong with them gathers in ``problems``."""

    def __init__(self, version: HotVersion, positions: Positions, problems: list[Problem]) -> None:
        self._version = version
        self._positions = positions
        self._functions = functions_of(version)
        self._calls: list[Function] = []
        self._problems = problems

    def parse(self, raw: Any, path: Path) -> Expression:
        """Return the expression for the data that stands at ``path``."""
        self._calls = []
        value = self._build(raw, path)
        return Expression(value, tuple(self._calls))

    def _build(self, raw: Any, path: Path) -> Any:
        """Return a copy of ``raw`` with the calls in their places."""
        if raw.__class__ is dict:
            built = {key: self._build(item, (*path, key)) for key, item in raw.items()}
            return self._call(built, path) if len(raw) == 1 else built
        if raw.__class__ is list:
            return [self._build(item, (*path, index)) for index, item in enumerate(raw)]
        return raw

    def _call(self, built: dict[str, Any], path: Path) -> Any:
        ((name, arguments),) = built.items()
        function = self._functions.get(name)
        if function is None:
            self._refuse(name, (*path, name))
            return built
        try:
            call = function(arguments, version=self._version, path=(*path, name), positions=self._positions)
        except FunctionError as error:
            self._problems.append(self._positions.problem((*path, name, *error.path), str(error), error.hint))
            return built
        self._calls.append(call)
        return call

    def _refuse(self, name: str, path: Path) -> None:
        """Report a function of the language that cannot be called; any other name is data."""
        lifetime = FUNCTIONS.get(name)
        if lifetime is None:
            return
        if self._version in lifetime:
            message = f"the function {name} is not supported yet"
        elif lifetime.is_over(self._version):
            message = f"the function {name} was removed in heat_template_version {lifetime.until}"
        else:
            return
        self._problems.append(self._positions.problem(path, message))
