"""Merging of a parameter's values from several environment files.

The first file that sets a parameter decides how it is merged: by the entry for the parameter in the file's section
``parameter_merge_strategies``, else by the entry ``default``; without either, later values replace earlier ones.
"""

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import partial
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.errors import Problem
from orchestrator.sandbox.budget import check_time
from orchestrator.template.document import dotted
from orchestrator.template.functions.base import kind_of
from orchestrator.template.functions.growth import Growth
from orchestrator.template.given import Given
from orchestrator.template.parameter_types import ParameterType, convert

#: The limit of the size of all values that are merged into earlier ones, in characters and parts.
MOST_MERGED: Final = 2 * 1024 * 1024


class Strategy(StrEnum):
    """How a later value of a parameter is combined with an earlier one."""

    OVERWRITE = "overwrite"
    #: Text is appended, lists are extended, maps are updated key by key.
    MERGE = "merge"
    #: As merge, and maps are updated down to the innermost: text in them is appended, lists in them are extended.
    DEEP_MERGE = "deep_merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The parameters of one source, such as an environment file."""

    parameters: Mapping[str, Given] = field(default_factory=dict)
    parameter_defaults: Mapping[str, Given] = field(default_factory=dict)
    #: By parameter: the strategies, with their positions.
    strategies: Mapping[str, Given] = field(default_factory=dict)
    #: The strategy of the parameters that ``strategies`` does not name.
    default_strategy: Strategy | None = None
    #: Whether its values replace others regardless of strategies, as those of a job do.
    replaces: bool = False

    def value_of(self, name: str) -> Given | None:
        """Return the parameter's value, from either section; None if neither has one."""
        for section in (self.parameters, self.parameter_defaults):
            given = section.get(name)
            if given is not None and given.value is not None:
                return given
        return None

    def __bool__(self) -> bool:
        return bool(self.parameters or self.parameter_defaults)


class Latest(Mapping[str, Given]):
    """The last value of each name in a sequence of sections; a null does not replace an earlier value."""

    def __init__(self, sections: Iterable[Mapping[str, Given]]) -> None:
        self._sections = tuple(section for section in sections if section)

    def __getitem__(self, name: str) -> Given:
        found = [section[name] for section in reversed(self._sections) if name in section]
        if not found:
            raise KeyError(name)
        return next((given for given in found if given.value is not None), found[0])

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for section in self._sections for name in section))

    def items(self) -> ItemsView[str, Given]:
        """Return each name with its value, found in one pass over all sections."""
        latest: dict[str, Given] = {}
        for section in self._sections:
            for name, given in section.items():
                if given.value is not None or name not in latest or latest[name].value is None:
                    latest[name] = given
        return latest.items()

    def __len__(self) -> int:
        return sum(1 for _ in self)


def fold(layers: Sequence[Layer], types: Mapping[str, ParameterType]) -> tuple[Layer, list[Problem]]:
    """Return all layers as one, each parameter merged by its strategy, and the problems found.

    Of a parameter that is not in ``types`` (the template does not declare it) the last value counts, and defaults are
    left out.
    """
    if len(layers) == 1:
        return layers[0], []
    folding = _Folding(layers, types)
    parameters = [layer.parameters for layer in layers]
    others = {name: given for name, given in Latest(parameters).items() if name not in types}
    folded = Layer(
        parameters={**others, **folding.section(parameters)},
        parameter_defaults=folding.section([layer.parameter_defaults for layer in layers]),
    )
    return folded, folding.problems


class _Folding:
    def __init__(self, layers: Sequence[Layer], types: Mapping[str, ParameterType]) -> None:
        self._layers, self._types = layers, types
        self.problems: list[Problem] = []
        self._growth = Growth()
        self._strategies = self._fix_strategies()

    def section(self, sections: Sequence[Mapping[str, Given]]) -> dict[str, Given]:
        """Return the same section of all layers as one, of the declared parameters."""
        values = ((name, self._value(name, sections)) for name in self._types)
        return {name: given for name, given in values if given is not None}

    def _value(self, name: str, sections: Sequence[Mapping[str, Given]]) -> Given | None:
        check_time(partial(_problem, name))
        merged, is_converted = None, False
        for section, layer in zip(sections, self._layers, strict=True):
            new = section.get(name)
            if new is None or (merged is not None and new.value is None):
                continue
            strategy = self._strategies.get(name, Strategy.OVERWRITE)
            if merged is None or merged.value is None or layer.replaces or strategy is Strategy.OVERWRITE:
                merged, is_converted = new, False
            else:
                merged, is_converted = self._merged(name, merged, new, is_converted=is_converted)
        return merged

    def _fix_strategies(self) -> dict[str, Strategy]:
        """Return the strategy of each declared parameter that a file sets; record files that name another one."""
        layers = [layer for layer in self._layers if not layer.replaces]
        fixed: dict[str, Strategy] = {}
        for name in self._types:
            check_time(partial(_problem, name))
            first: Given | None = None
            for layer in layers:
                given, strategy = layer.value_of(name), layer.strategies.get(name)
                if given is None:
                    continue
                if first is None:
                    first, default = given, layer.default_strategy or Strategy.OVERWRITE
                    fixed[name] = strategy.value if strategy else default
                elif strategy and strategy.value is not fixed[name]:
                    self.problems.append(_conflict(name, strategy, fixed[name], first))
        return fixed

    def _merged(self, name: str, old: Given, new: Given, *, is_converted: bool) -> tuple[Given, bool]:
        """Return the merged value of two, at the later one's place, and whether it is converted to its type.

        If they cannot be merged, the later value is returned unchanged.
        """
        kind, strategy = self._types[name], self._strategies[name]
        merge = _MERGES.get(kind)
        if merge is None:
            message = f"{_KINDS[kind]} cannot be merged with what an earlier file sets"
            hint = f"set {name}: overwrite under parameter_merge_strategies in the first file that sets it"
            self.problems.append(new.problem(message, hint))
            return new, False
        if not self._growth.add(new.value, MOST_MERGED):
            message = (
                f"all that environments add to what is there has more than {MOST_MERGED} characters and parts"
            )
            self.problems.append(new.problem(message, "let later values replace earlier ones"))
            return new, False
        try:
            # The merged value grows with each file: it is converted once only.
            earlier = old.value if is_converted else convert(kind, old.value)
        except ValueError as error:
            self.problems.append(old.problem(str(error), f"parameter {name!r} has the type {kind}"))
            return new, False
        try:
            return replace(new, value=merge(earlier, convert(kind, new.value), strategy)), True
        except _DifferentKinds as error:
            hint = f"parameter {name!r} has the strategy {strategy.value!r}"
            self.problems.append(new.problem(str(error), hint))
        except ValueError:
            # Reported when the value is read.
            pass
        return new, False


def _conflict(name: str, other: Given, strategy: Strategy, first: Given) -> Problem:
    where = f"{first.position.file!r}" if first.position else "the environment"
    return other.problem(
        f"the parameter {name!r} has the strategy {strategy.value!r} since {where}, which sets it first",
        f"set {other.value.value!r} in {where} as well, or remove this",
    )


def _problem(name: str, message: str, hint: str) -> Problem:
    return Problem(message=message, path=dotted(("parameters", name)), hint=hint)


class _DifferentKinds(ValueError):
    """Two valid values whose kinds cannot be merged."""


def _append(old: Any, new: Any, _strategy: Strategy) -> object:
    return old + new


#: The empty values of a json parameter; 0 and false are none.
_EMPTY: Final[tuple[object, ...]] = ({}, [], "")


def _merge_json(old: object, new: object, strategy: Strategy) -> object:
    """Return two maps or two lists merged; an empty map, list or text yields the other."""
    if old in _EMPTY or new in _EMPTY:
        return new if old in _EMPTY else old
    if isinstance(old, dict) and isinstance(new, dict):
        return _deep(old, new) if strategy is Strategy.DEEP_MERGE else {**old, **_without_nulls(new)}
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *new]
    found = f"{kind_of(new)} to be merged with {kind_of(old)} of an earlier file"
    raise _DifferentKinds(f"expected two maps or two lists, found {found}")


def _deep(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, object]:
    merged = dict(old)
    for key, value in _without_nulls(new).items():
        merged[key] = _deep_value(old.get(key), value)
    return merged


def _deep_value(old: Any, new: Any) -> object:
    if isinstance(old, dict) and isinstance(new, dict):
        return _deep(old, new)
    both = (type(old), type(new))
    return old + new if both in ((str, str), (list, list)) else new


def _without_nulls(values: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if value is not None}


_MERGES: Final[Mapping[ParameterType, Callable[[Any, Any, Strategy], Any]]] = {
    ParameterType.STRING: _append,
    ParameterType.LIST: _append,
    ParameterType.JSON: _merge_json,
}
_KINDS: Final = {ParameterType.NUMBER: "a number", ParameterType.BOOLEAN: "a boolean"}
