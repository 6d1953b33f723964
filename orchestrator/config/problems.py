"""Problems of settings as messages: where the setting is, what was expected, and the nearest right name.

No value is shown but numbers that are out of bounds: any other may be a key, or a URL with a password.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hooks.values.nearest import Nearest
from orchestrator.errors import Problem

PREFIX: Final = "ISOTHERM_"
#: Variables of Isotherm that are not settings.
_OTHER_VARIABLES: Final = frozenset({"ISOTHERM_CONFIG", "ISOTHERM_DEBUG"})
#: How similar a variable must be to a setting's to count as a misspelling of it.
_ALIKE: Final = 0.85
#: The fewest characters of an abbreviation of a setting's name.
_SHORTEST: Final = 3

_EXPECTED: Final = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "string": "a text",
    "dict": "a table",
    "model": "a table",
    "tuple": "a list",
    "path": "a path",
}
_BOUNDS: Final = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
_FOUND: Final = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    dict: "a table",
    list: "a list",
    tuple: "a list",
}


def settings_problems(
    error: ValidationError, settings: type[BaseModel], variables: Mapping[str, str], file: str
) -> list[Problem]:
    """Return a problem for each fault, in the order of the settings."""
    return [_problem(fault, settings, variables, file) for fault in error.errors()]


def variable_of(place: Sequence[str | int]) -> str:
    """Return the variable of a place in the settings; items of lists have none of their own."""
    names = takewhile(lambda step: isinstance(step, str), place)
    return PREFIX + "__".join(map(str, names)).upper()


def unread_variables(settings: type[BaseModel], variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each unknown variable that resembles a setting's, or abbreviates it, with the name of that setting."""
    known = [variable_of(place) for place in _places(settings)]
    for name in sorted(variables):
        spelt = name.upper()
        if not spelt.startswith(PREFIX) or spelt in _OTHER_VARIABLES:
            continue
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


def _beginning_with(name: str) -> Callable[[str], bool]:
    """Return whether a setting is what an abbreviation, such as BROKER or STATE_DIR, stands for."""
    return lambda known: len(name) >= _SHORTEST and known.startswith(name)


def _problem(
    fault: ErrorDetails, settings: type[BaseModel], variables: Mapping[str, str], file: str
) -> Problem:
    place, hint = fault["loc"], ""
    message = _sentence(fault)
    if fault["type"] == "extra_forbidden":
        name, names = str(place[-1]), _names_beside(settings, place)
        message = "there is no such setting"
        all_names = (
            f"there are {', '.join(sorted(names))}" if len(place) > 1 else "docs/settings.md has them all"
        )
        hint = Nearest().hint(name, names, all_names)
    path = ".".join(("settings", *map(str, place)))
    return Problem(message=f"{message} (in {_source(place, variables, file)})", path=path, hint=hint)


def _sentence(fault: ErrorDetails) -> str:
    kind, found = fault["type"], fault.get("input")
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        # A number, also if a variable holds it as text.
        return f"expected {words} {fault['ctx'][bound]:g}, found {found}"
    if kind == "value_error":
        return str(fault["ctx"]["error"])
    expected = _EXPECTED.get(kind.partition("_")[0])
    return (
        f"expected {expected}, found {_FOUND.get(type(found), 'something else')}"
        if expected
        else fault["msg"]
    )


def _source(place: Sequence[str | int], variables: Mapping[str, str], file: str) -> str:
    """Return the source of a place in the settings: its variable, that of a table around it, or the file."""
    given = {name.upper() for name in variables}
    steps = [variable_of(place[:length]) for length in range(len(place), 0, -1)]
    return next((step for step in steps if step in given), file)


def _names_beside(settings: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """Return the valid names beside the last step of ``place``."""
    model: Any = settings
    for step in place[:-1]:
        if isinstance(model, type) and issubclass(model, BaseModel):
            field = model.model_fields.get(str(step))
            model = field.annotation if field else None
        else:
            # A key of a table of tables, which the operator chose.
            model = get_args(model)[-1] if get_args(model) else None
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _places(settings: type[BaseModel], within: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in settings.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _places(inner, (*within, name))
        else:
            yield (*within, name)
