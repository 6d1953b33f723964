"""Variables of settings: what they give, where a value comes from, and which are misspelt."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, get_args

from hooks.values.nearest import Nearest
from orchestrator.config.section import Section
from orchestrator.config.setting import Fault, is_list, is_section, is_table, members

PREFIX: Final = "ISOTHERM_"
#: Between the names of a section and of a setting in it.
_DELIMITER: Final = "__"
#: Variables of Isotherm that are not settings.
_OTHER_VARIABLES: Final = frozenset({"ISOTHERM_CONFIG", "ISOTHERM_DEBUG"})
#: How similar a variable must be to a setting's to count as a misspelling of it.
_ALIKE: Final = 0.85
#: The fewest characters of an abbreviation of a setting's name.
_SHORTEST: Final = 3


def values_of(settings: type[Section], variables: Mapping[str, str], faults: list[Fault]) -> dict[str, Any]:
    """Return what variables give, by the names of settings; those that are no setting's are left out.

    Lists and tables are JSON; what is not is added to ``faults``. A variable of a part wins over that of the whole.
    """
    given: dict[str, Any] = {}
    # The whole comes first.
    for variable in sorted(variables, key=lambda name: name.count(_DELIMITER)):
        if not variable.upper().startswith(PREFIX):
            continue
        steps = variable[len(PREFIX) :].lower().split(_DELIMITER)
        first = settings.declared.get(steps[0])
        if not first or (len(steps) > 1 and not is_table(first.kind)):
            continue
        try:
            value = _value(_kind_at(settings, steps), variables[variable])
        except ValueError:
            # The value is not shown: it may be a password.
            faults.append(Fault(tuple(steps), "it cannot be read", written_in=variable.upper()))
            continue
        for step in reversed(steps):
            value = {step: value}
        given = merged(given, value)
    return given


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of two sources, of which the second wins; maps in maps are merged as well."""
    both = dict(below)
    for name, value in above.items():
        beside = both.get(name)
        if isinstance(value, Mapping) and isinstance(beside, Mapping):
            both[name] = merged(beside, value)
        else:
            both[name] = value
    return both


def variable_of(place: Sequence[str | int]) -> str:
    """Return the variable of a place in the settings; items of lists have none of their own."""
    names = takewhile(lambda step: isinstance(step, str), place)
    return PREFIX + _DELIMITER.join(map(str, names)).upper()


def source_of(place: Sequence[str | int], variables: Mapping[str, str], file: str) -> str:
    """Return the source of a place in the settings: its variable, that of a table around it, or the file."""
    given = {name.upper() for name in variables}
    steps = [variable_of(place[:length]) for length in range(len(place), 0, -1)]
    return next((step for step in steps if step in given), file)


def unread_variables(settings: type[Section], variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each unknown variable that resembles a setting's, or abbreviates it, with the name of that setting."""
    known: list[str] = []
    for name in sorted(variables):
        spelt = name.upper()
        if not spelt.startswith(PREFIX) or spelt in _OTHER_VARIABLES or _is_plain(settings, spelt):
            continue
        known = known or [variable_of(place) for place in _places(settings)]
        if any(
            spelt == each or spelt.startswith(f"{each}__") or each.startswith(f"{spelt}__") for each in known
        ):
            continue
        # Compared without the common prefix, which would make all similar.
        rests = [each.removeprefix(PREFIX) for each in known]
        spelt = spelt.removeprefix(PREFIX)
        near = Nearest(alike=_ALIKE).among(spelt, rests) or next(filter(_beginning_with(spelt), rests), None)
        if near:
            yield name, PREFIX + near


def _is_plain(settings: type[Section], variable: str) -> bool:
    """Whether a variable is that of a setting outside sections; most are, and all names take long to list."""
    each = settings.declared.get(variable.removeprefix(PREFIX).lower())
    return each is not None and not is_section(each.kind)


def _beginning_with(name: str) -> Callable[[str], bool]:
    """Return whether a setting is what an abbreviation, such as BROKER or STATE_DIR, stands for."""
    return lambda known: len(name) >= _SHORTEST and known.startswith(name)


def _kind_at(settings: type[Section], steps: Sequence[str]) -> Any:
    """Return the type of what is at a place in the settings; Any for what has no declared type."""
    kind: Any = settings
    for step in steps:
        if is_section(kind):
            declaration = kind.declared.get(step)
            kind = declaration.kind if declaration else Any
        else:
            kind = get_args(kind)[-1] if is_table(kind) else Any
    return kind


def _value(kind: Any, text: str) -> Any:
    return json.loads(text) if any(is_table(each) or is_list(each) for each in members(kind)) else text


def _places(settings: type[Section], within: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, each in settings.declared.items():
        if is_section(each.kind):
            yield from _places(each.kind, (*within, name))
        else:
            yield (*within, name)
