"""Expressions: parts of a template with the calls in them, built and ready to be evaluated.

A map with exactly one key that names a function of the template's version is a call; everything else is data.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from hooks.values.dataclass import dataclass
from hooks.values.nearest import Nearest
from orchestrator.definition import UNKNOWN, StackDefinition, is_unknown
from orchestrator.errors import MOST_PROBLEMS, Problem, cut
from orchestrator.sandbox.budget import evaluation
from orchestrator.template.document import Path
from orchestrator.template.functions.base import (
    ABSENT,
    LATER,
    Function,
    FunctionError,
    KnownNames,
    Macro,
    ResolveError,
    Scope,
    holds_call,
    is_open,
    plain_copy,
    reads_secret,
    resolve,
    with_calls_replaced,
)
from orchestrator.template.functions.misspellings import Misspellings
from orchestrator.template.functions.references import UnknownName
from orchestrator.template.functions.registry import (
    CallableClass,
    all_functions,
    condition_functions_of,
    functions_of,
)
from orchestrator.template.hiding import HIDDEN
from orchestrator.template.secret_parts import holds_secret, secret_parts


class Expression:
    """A value of a template: data, and the calls in it. Immutable."""

    __slots__ = ("_doubts", "_value", "calls", "plain")

    def __init__(
        self,
        value: Any,
        calls: tuple[Function, ...] = (),
        *,
        plain: Any = None,
        doubts: tuple[Problem, ...] = (),
    ) -> None:
        self._value, self._doubts = value, doubts
        #: Every call, inner ones before outer ones.
        self.calls = calls
        #: The value in plain types: as written, with calls as one-key maps and with macros expanded.
        self.plain = value if plain is None else plain

    @property
    def may_be_map(self) -> bool:
        """Whether the value is a map or null, or a call that may return one."""
        return self._value is None or isinstance(self._value, (dict, *LATER))

    @property
    def is_call(self) -> bool:
        """Whether the value as a whole is a call, or known only later."""
        return isinstance(self._value, LATER)

    def resolve(self, stack: StackDefinition) -> object:
        """Return a copy of the value with its calls evaluated.

        Raises:
            ResolveError: a call failed.
            InvalidInput: the time limit is exceeded; see :mod:`orchestrator.sandbox.budget`.
        """
        if not self.calls:
            return plain_copy(self._value)
        with evaluation(self.calls[0].scope.limits) as budget:
            budget.begin_value()
            return resolve(self._value, stack)

    def covered(self, path: Path, hidden: Collection[str]) -> Path | None:
        """Return None if the value at ``path`` may be shown, else the part of ``path`` that may be shown.

        Values may be shown if the template contains them, or computes them from parameters that are not ``hidden``.
        """
        value = self._value
        for depth, step in enumerate(path):
            if isinstance(value, Function):
                # Further steps lead into its result, whose keys may be secrets, too.
                return None if is_open(value, hidden) else path[:depth]
            try:
                value = value[step]
            except (LookupError, TypeError):
                break
        return None if is_open(value, hidden) else path

    def entries(self) -> Mapping[str, "Expression"]:
        """Return the entries of a map as expressions of their own; none, if the value is no map."""
        if not isinstance(self._value, dict):
            return {}
        return {name: Expression(value, self.calls) for name, value in self._value.items()}

    def as_far_as_known(self, stack: StackDefinition) -> tuple[object, frozenset[str]]:
        """Return the value in plain types, and the names of the resources on which the rest of it depends.

        Calls whose values are not known yet stand as one-key maps, with their arguments as far as these are known.

        Raises:
            ResolveError: a call failed.
            InvalidInput: the time limit is exceeded; see :mod:`orchestrator.sandbox.budget`.
        """
        if not holds_call(self._value):
            return plain_copy(self._value), frozenset()
        names: set[str] = set()
        with evaluation(self.calls[0].scope.limits) as budget:
            budget.begin_value()
            value = _as_far_as_known(self._value, stack, names)
        return value, frozenset(names)

    def shown(self, stack: StackDefinition, hidden: Collection[str], *, later: object) -> object:
        """Return the value for a preview, before any resource exists.

        ``later`` replaces values that are not known yet, ``******`` those that may be secrets.

        Raises:
            ResolveError: a call failed.
            InvalidInput: the time limit is exceeded; see :mod:`orchestrator.sandbox.budget`.
        """
        if not self.calls:
            return _shown(self._value, stack, hidden, later)
        with evaluation(self.calls[0].scope.limits) as budget:
            budget.begin_value()
            return _shown(self._value, stack, hidden, later)

    def masked(self, value: object, stack: StackDefinition, hidden: Collection[str]) -> object:
        """Return ``value``, which this may have given earlier, with ``******`` for each part that may be a secret.

        Shown is what this contains, or gives in ``stack`` by calls that read nothing but open parameters and ids.

        Raises:
            ResolveError: a call failed.
            InvalidInput: the time limit is exceeded; see :mod:`orchestrator.sandbox.budget`.
        """
        if not self.calls:
            return _masked(self._value, value, stack, hidden)
        with evaluation(self.calls[0].scope.limits) as budget:
            budget.begin_value()
            return _masked(self._value, value, stack, hidden)

    def secret_parts(
        self, value: object, stack: StackDefinition, hidden: Collection[str]
    ) -> Iterator[object]:
        """Yield the parts of ``value``, which this gave, that come from secrets; nothing is evaluated."""
        return secret_parts(self._value, value, stack, hidden) if self.calls else iter(())

    def reads_secret(self, stack: StackDefinition, hidden: Collection[str]) -> bool:
        """Return whether a part of the value comes from a secret; nothing is evaluated."""
        return bool(self.calls) and holds_secret(self._value, stack, hidden)

    def replaced_by_secrets(self, value: object, hidden: Collection[str]) -> object:
        """Return ``value``, which this replaces, with ``******`` for each part in whose place a secret is put."""
        return _replaced_by_secrets(self._value, value, hidden)

    def requirements(self) -> Iterator[str]:
        """Yield the names of the resources that must be complete first."""
        for call in self.calls:
            yield from call.dependencies()

    def warnings(self) -> Iterator[Problem]:
        """Yield a warning for each part that is accepted, though perhaps not meant."""
        yield from self._doubts
        for call in self.calls:
            for warning in call.warnings():
                yield call.problem(warning)

    def missing(self, names: KnownNames, nearest: Nearest) -> Iterator[Problem]:
        """Yield a problem for each call that refers to something that does not exist."""
        for call in self.calls:
            error = call.missing(names)
            if isinstance(error, UnknownName):
                error.hint = nearest.hint(error.name, error.known)
            if error:
                yield call.problem(error)


class ExpressionParser:
    """Builds the expressions of one document; adds what is wrong with them to ``problems``."""

    def __init__(
        self,
        scope: Scope,
        problems: list[Problem],
        parameters: Mapping[str, Any] | None = None,
        hidden: Collection[str] = (),
    ) -> None:
        """Keep the context of the calls.

        Values that must be known before any resource exists are evaluated with ``parameters``; None in a check, where
        that has been done before. Values of those in ``hidden`` are never inserted into an expression.
        """
        self.scope = scope
        self._problems = problems
        self._deciding = None if parameters is None else Deciding.of(parameters, frozenset(hidden))
        self._misspellings = Misspellings()
        #: The same with nothing to hide.
        self._deciding_openly = None if parameters is None else Deciding.of(parameters, frozenset())

    def parse(self, raw: object, path: Path) -> Expression:
        """Return the expression for the data at ``path``."""
        if raw == {}:
            return Expression({}, plain=raw)
        return self._parse(raw, path, functions_of(self.scope.version))

    def parse_condition(self, raw: object, path: Path) -> Expression:
        """Return the expression for the condition at ``path``: conditions can call other functions."""
        return self._parse(raw, path, condition_functions_of(self.scope.version), in_condition=True)

    def settled(self, raw: object, path: Path) -> object:
        """Return the data at ``path``, evaluated with parameters only, including hidden ones.

        ``UNKNOWN`` if a parameter has no value yet, and if there is a mistake.
        """
        if raw is None:
            return None
        functions = functions_of(self.scope.version)
        building = _Building(self.scope, functions, self._problems, self._deciding_openly, in_condition=False)
        try:
            return building.settled(raw, path)
        except FunctionError as error:
            self._problems.append(self.scope.positions.problem((*path, *error.path), str(error), error.hint))
            return UNKNOWN

    def _parse(
        self, raw: object, path: Path, functions: Mapping[str, CallableClass], *, in_condition: bool = False
    ) -> Expression:
        building = _Building(self.scope, functions, self._problems, self._deciding, in_condition=in_condition)
        if self._deciding is not None:
            building.misspellings = self._misspellings
        value = building.build(raw, path)
        value = None if value is ABSENT else value
        plain = unbuilt(value) if building.rewritten else raw
        return Expression(value, tuple(building.calls), plain=plain, doubts=tuple(building.doubts))


@dataclass(frozen=True, slots=True)
class Deciding:
    """The parameters for early evaluation, as stacks without resources."""

    all: StackDefinition
    #: The parameters whose values may be inserted into an expression.
    open: StackDefinition
    hidden: frozenset[str]

    @classmethod
    def of(cls, parameters: Mapping[str, object], hidden: frozenset[str]) -> "Deciding":
        """Return the stacks with these parameters."""
        open_ = {name: value for name, value in parameters.items() if name not in hidden}
        return cls(_stack_of(parameters), _stack_of(open_), hidden)


class _Building:
    def __init__(
        self,
        scope: Scope,
        functions: Mapping[str, CallableClass],
        problems: list[Problem],
        deciding: "Deciding | None",
        *,
        in_condition: bool,
    ) -> None:
        self.scope = scope
        self.calls: list[Function] = []
        #: Whether the value differs from the template's: a macro or an early call was replaced by its result.
        self.rewritten = False
        #: Keys of maps that are data, but look like calls.
        self.doubts: list[Problem] = []
        #: None in a check: the template's warnings were given before.
        self.misspellings: Misspellings | None = None
        self._functions = functions
        self._problems = problems
        self._deciding = deciding
        self._in_condition = in_condition

    def build(self, raw: object, path: Path) -> object:
        """Return a copy of ``raw`` with calls as :class:`Function` objects."""
        if raw.__class__ is dict:
            if len(raw) == 1:
                ((name, arguments),) = raw.items()
                function = self._functions.get(name)
                if function is not None:
                    return self._call(function, arguments, (*path, name))
                self._refuse(name, (*path, name))
                self._doubt(name, (*path, name))
            built = {key: self.build(item, (*path, key)) for key, item in raw.items()}
            if self.rewritten:
                return {key: item for key, item in built.items() if item is not ABSENT}
            return built
        if raw.__class__ is list:
            items = [self.build(item, (*path, index)) for index, item in enumerate(raw)]
            return [item for item in items if item is not ABSENT] if self.rewritten else items
        return raw

    def _call(self, function: CallableClass, arguments: object, path: Path) -> object:
        """Return the call at ``path``; ``UNKNOWN`` in place of an invalid one."""
        try:
            if issubclass(function, Macro):
                self.rewritten = True
                return function.expand(arguments, _MacroBuilder(self, path))
            before = len(self._problems)
            built = self.build(arguments, path)
            built = None if built is ABSENT else built
            if len(self._problems) > before:
                # A consequence of a mistake that is recorded already.
                return UNKNOWN
            if function.early and self._deciding is not None and holds_call(built):
                built = with_calls_replaced(built, partial(self._early, self._deciding.open))
            if built is UNKNOWN:
                return UNKNOWN
            call = function(built, scope=self.scope, path=path)
        except FunctionError as error:
            self._problems.append(self.scope.positions.problem((*path, *error.path), str(error), error.hint))
            return UNKNOWN
        self.calls.append(call)
        return call

    def _early(self, parameters: StackDefinition, call: Function) -> object:
        """Return the value of a call that needs parameters only, and any other call unchanged."""
        try:
            found = call.resolve(parameters)
        except ResolveError:
            # It needs more than parameters, or is invalid: then later checks report it.
            return call
        most = self.scope.limits.max_bytes
        if not self.scope.growth.add(found, most):
            hint = f"all that is put into the template as it is read may have {most} characters and parts"
            raise FunctionError("what this gives makes the template too large", hint=hint)
        self.rewritten = True
        return found

    def settled(self, raw: object, path: Path) -> object:
        """Return ``raw`` as plain data, evaluated with parameters only.

        Raises:
            FunctionError: it refers to a resource, or a call fails.
        """
        before = len(self.calls)
        value = self.build(raw, path)
        value = None if value is ABSENT else value
        if not holds_call(value):
            return UNKNOWN if is_unknown(value) else value
        if self._deciding is None:
            raise FunctionError("only plain values can stand here")
        if self._deciding.hidden and not is_open(value, self._deciding.hidden):
            raise FunctionError("a hidden parameter cannot decide what stands here")
        needs = next((call for call in self.calls[before:] if any(call.dependencies())), None)
        if needs is not None:
            hint = "this is decided before any resource is made"
            raise FunctionError(f"{needs.name} of a resource cannot stand here", hint=hint)
        try:
            found = resolve(value, self._deciding.all)
        except ResolveError as error:
            self._problems.append(error.problem)
            return UNKNOWN
        return UNKNOWN if is_unknown(found) else found

    def _doubt(self, name: str, path: Path) -> None:
        """Record a warning if a map with only this key was perhaps meant as a call."""
        if self.misspellings is None or name in all_functions() or len(self.doubts) >= MOST_PROBLEMS:
            return
        near = self.misspellings.meant(name, self._functions)
        if near is not None:
            message = f"{cut(name)!r} is no function, so this map is data"
            self.doubts.append(self.scope.positions.problem(path, message, f"did you mean {near!r}?"))

    def _refuse(self, name: str, path: Path) -> None:
        """Record a problem if a function of the language cannot be called here; any other name is data."""
        function = all_functions().get(name)
        if function is None:
            return
        version = self.scope.version
        if self._in_condition and version in function.lifetime:
            known = ", ".join(sorted(self._functions))
            message, hint = f"the function {name} cannot be called in a condition", f"functions: {known}"
            self._problems.append(self.scope.positions.problem(path, message, hint))
        elif function.lifetime.is_removed(version):
            message = f"the function {name} was removed in heat_template_version {function.lifetime.until}"
            self._problems.append(self.scope.positions.problem(path, message))


def _stack_of(parameters: Mapping[str, object]) -> StackDefinition:
    return StackDefinition(name="", id="", parameters=parameters)


class _MacroBuilder:
    """The services of a macro at ``path``; see :class:`orchestrator.template.functions.base.Builder`."""

    def __init__(self, building: _Building, path: Path) -> None:
        self.scope = building.scope
        self._building, self._path = building, path

    def value(self, raw: Any, *path: str | int) -> Any:
        """Return data with the calls in it built."""
        return self._building.build(raw, (*self._path, *path))

    def settled(self, raw: object, *path: str | int) -> object:
        """Return plain data, evaluated with parameters only.

        Raises:
            FunctionError: it refers to a resource, or a call fails.
        """
        try:
            return self._building.settled(raw, (*self._path, *path))
        except FunctionError as error:
            raise FunctionError(str(error), path=(*path, *error.path), hint=error.hint) from None

    def condition(self, raw: Any, *path: str | int) -> Any:
        """Return whether a condition holds.

        Raises:
            FunctionError: in a check, where conditions have been evaluated before.
        """
        if self.scope.conditions is None:
            raise FunctionError("this was decided before", path=path)
        return self.scope.conditions.holds(raw, (*self._path, *path))


def unbuilt(value: object) -> object:
    """Return a built value in plain types: calls as one-key maps."""
    return with_calls_replaced(value, lambda call: {call.name: unbuilt(call.arguments)})


def _as_far_as_known(value: object, stack: StackDefinition, names: set[str]) -> object:
    def known(call: Function) -> object:
        found = call.resolve(stack)
        if not is_unknown(found):
            return found
        names.update(call.dependencies())
        return {call.name: _as_far_as_known(call.arguments, stack, names)}

    return with_calls_replaced(value, known)


def _shown(value: object, stack: StackDefinition, hidden: Collection[str], later: object) -> object:
    if isinstance(value, Function):
        known = value.resolve(stack)
        if is_unknown(known):
            return later
        return known if value.is_open_in(stack, hidden) else HIDDEN
    if isinstance(value, dict):
        return {key: _shown(item, stack, hidden, later) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item, stack, hidden, later) for item in value]
    return later if value is UNKNOWN else value


def _masked(part: object, value: object, stack: StackDefinition, hidden: Collection[str]) -> object:
    if isinstance(part, Function):
        return value if part.is_open_in(stack, hidden) and part.resolve(stack) == value else HIDDEN
    if isinstance(part, dict) and isinstance(value, dict):
        return {
            key: _masked(part[key], item, stack, hidden) if key in part else HIDDEN
            for key, item in value.items()
        }
    if isinstance(part, list) and isinstance(value, list) and len(part) == len(value):
        return [_masked(*each, stack, hidden) for each in zip(part, value, strict=True)]
    return value if part == value else HIDDEN


def _replaced_by_secrets(part: object, value: object, hidden: Collection[str]) -> object:
    if isinstance(part, dict) and isinstance(value, dict):
        return {
            key: _replaced_by_secrets(part[key], item, hidden) if key in part else item
            for key, item in value.items()
        }
    if isinstance(part, list) and isinstance(value, list):
        replaced = [_replaced_by_secrets(*each, hidden) for each in zip(part, value, strict=False)]
        return [*replaced, *value[len(replaced) :]]
    return HIDDEN if reads_secret(part, hidden) else value
