"""Several values for one parameter, from one environment file after another, and what they come to.

How a parameter is merged is decided by the first file that sets it: by what the file's section
``parameter_merge_strategies`` says of the parameter, else of ``default``; where it says nothing, later values
replace earlier ones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from orchestrator.errors import Problem
from orchestrator.template.functions.base import kind_of
from orchestrator.template.given import Given
from orchestrator.template.parameter_types import ParameterType, convert


class Strategy(StrEnum):
    """What a later value of a parameter does to an earlier one."""

    OVERWRITE = "overwrite"
    #: Text is appended, lists are extended, maps are updated key by key.
    MERGE = "merge"
    #: As merge, and maps are updated down to the innermost: text in them is appended, lists in them are extended.
    DEEP_MERGE = "deep_merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What one source, such as an environment file, says of parameters."""

    parameters: Mapping[str, Given] = field(default_factory=dict)
    parameter_defaults: Mapping[str, Given] = field(default_factory=dict)
    #: By parameter: the strategies, with the places where they stand.
    strategies: Mapping[str, Given] = field(default_factory=dict)
    #: What the source says of parameters that it does not name there.
    default_strategy: Strategy | None = None
    #: Whether its values replace what others say, whatever strategies they name: it is no file.
    replaces: bool = False

    def set_values(self) -> dict[str, Given]:
        """Return a value of each parameter that has one in either section."""
        sections = (self.parameter_defaults, self.parameters)
        return {
            name: given for section in sections for name, given in section.items() if given.value is not None
        }

    def __bool__(self) -> bool:
        return bool(self.parameters or self.parameter_defaults)


def last_of(sections: Sequence[Mapping[str, Given]]) -> Mapping[str, Given]:
    """Return the last value of each name; null gives way to what was there before."""
    if len(sections) == 1:
        return sections[0]
    values: dict[str, Given] = {}
    for section in sections:
        for name, given in section.items():
            if given.value is not None or name not in values:
                values[name] = given
    return values


def fold(layers: Sequence[Layer], types: Mapping[str, ParameterType]) -> tuple[Layer, list[Problem]]:
    """Return all layers as one, each parameter merged by its strategy, and what is wrong with that.

    A parameter that is not in ``types`` is declared by nobody here: its last value counts.
    """
    if len(layers) == 1:
        return layers[0], []
    folding = _Folding(layers, types)
    folded = Layer(
        parameters=folding.section([layer.parameters for layer in layers]),
        parameter_defaults=folding.section([layer.parameter_defaults for layer in layers]),
    )
    return folded, folding.problems


class _Folding:
    """Makes one of several layers, and gathers what is wrong with that."""

    def __init__(self, layers: Sequence[Layer], types: Mapping[str, ParameterType]) -> None:
        self._layers, self._types = layers, types
        self.problems: list[Problem] = []
        self._strategies = self._fix_strategies()

    def section(self, sections: Iterable[Mapping[str, Given]]) -> dict[str, Given]:
        """Return the same section of all layers as one."""
        merged: dict[str, Given] = {}
        for section, layer in zip(sections, self._layers, strict=True):
            for name, new in section.items():
                old = merged.get(name)
                strategy = Strategy.OVERWRITE if layer.replaces else self._strategies.get(name)
                if old is None or old.value is None:
                    merged[name] = new
                elif new.value is None:
                    continue
                elif strategy in (None, Strategy.OVERWRITE):
                    merged[name] = new
                else:
                    merged[name] = self._merged(name, old, new)
        return merged

    def _fix_strategies(self) -> dict[str, Strategy]:
        """Return the strategy of each declared parameter that a file sets; a file that says another has a problem."""
        fixed: dict[str, tuple[Strategy, Given]] = {}
        for layer in self._layers:
            for name, given in {} if layer.replaces else layer.set_values().items():
                said = layer.strategies.get(name)
                if name not in self._types:
                    continue
                if name not in fixed:
                    fixed[name] = (
                        said.value if said else layer.default_strategy or Strategy.OVERWRITE,
                        given,
                    )
                elif said and said.value is not fixed[name][0]:
                    self.problems.append(_conflict(name, said, *fixed[name]))
        return {name: strategy for name, (strategy, _) in fixed.items()}

    def _merged(self, name: str, old: Given, new: Given) -> Given:
        """Return the two values as one, at the later one's place; the later alone if they cannot be merged."""
        kind, strategy = self._types[name], self._strategies[name]
        merge = _MERGES.get(kind)
        if merge is None:
            message = f"{_KINDS[kind]} cannot be merged with what an earlier file sets"
            hint = f"say {name}: overwrite under parameter_merge_strategies in the first file that sets it"
            self.problems.append(new.problem(message, hint))
            return new
        try:
            earlier = convert(kind, old.value)
        except ValueError as error:
            self.problems.append(old.problem(str(error), f"parameter {name!r} has the type {kind}"))
            return new
        try:
            return replace(new, value=merge(earlier, convert(kind, new.value), strategy))
        except _DifferentKinds as error:
            hint = f"parameter {name!r} has the strategy {strategy.value!r}"
            self.problems.append(new.problem(str(error), hint))
            return new
        except ValueError:
            # Whoever reads the value tells.
            return new


def _conflict(name: str, said: Given, strategy: Strategy, first: Given) -> Problem:
    where = f"{first.position.file!r}" if first.position else "the environment"
    return said.problem(
        f"the parameter {name!r} has the strategy {strategy.value!r} since {where}, which sets it first",
        f"say {said.value.value!r} in {where} as well, or take this away",
    )


class _DifferentKinds(ValueError):
    """Two values that each are right, but cannot be made one."""


# -- by type ---------------------------------------------------------------------------------------------------


def _append(old: Any, new: Any, _strategy: Strategy) -> Any:
    return old + new


def _merge_json(old: Any, new: Any, strategy: Strategy) -> Any:
    """Return two maps or two lists as one; what is empty gives way."""
    if not old or not new:
        return old or new
    if isinstance(old, dict) and isinstance(new, dict):
        return _deep(old, new) if strategy is Strategy.DEEP_MERGE else {**old, **_without_nulls(new)}
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *new]
    found = f"{kind_of(new)} to be merged with {kind_of(old)} of an earlier file"
    raise _DifferentKinds(f"expected two maps or two lists, found {found}")


def _deep(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(old)
    for key, value in _without_nulls(new).items():
        merged[key] = _deep_value(old.get(key), value)
    return merged


def _deep_value(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return _deep(old, new)
    both = (type(old), type(new))
    return old + new if both in ((str, str), (list, list)) else new


def _without_nulls(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


_MERGES: Final[Mapping[ParameterType, Callable[[Any, Any, Strategy], Any]]] = {
    ParameterType.STRING: _append,
    ParameterType.LIST: _append,
    ParameterType.JSON: _merge_json,
}
_KINDS: Final = {ParameterType.NUMBER: "a number", ParameterType.BOOLEAN: "a boolean"}
