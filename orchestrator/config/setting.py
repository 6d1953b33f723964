"""One setting: its declaration, and what is wrong with a value that is given for it.

No message shows a value but numbers that are out of bounds: any other may be a key, or a URL with a password.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from hooks.values.nearest import Nearest
from orchestrator.config.secret import Secret

Place = tuple[str | int, ...]

#: The texts that stand for true and false in variables.
_TRUTHS: Final = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}
_BOUNDS: Final[Mapping[str, tuple[str, Callable[[float, float], bool]]]] = {
    "gt": ("more than", lambda value, bound: value > bound),
    "ge": ("at least", lambda value, bound: value >= bound),
    "le": ("at most", lambda value, bound: value <= bound),
}
#: The origins of types of maps.
_MAPS: Final = (dict, Mapping)


class Fault(NamedTuple):
    """What is wrong with a value in the settings."""

    place: Place
    message: str
    #: The valid names, if the last step of the place is none.
    names: Sequence[str] = ()
    #: The variable that holds what is no JSON.
    written_in: str = ""

    @property
    def hint(self) -> str:
        """The advice: the nearest valid name, or all of them."""
        if self.written_in:
            return f"a list or a table is written as JSON in {self.written_in}"
        if not self.names:
            return ""
        all_names = (
            f"there are {', '.join(sorted(self.names))}"
            if len(self.place) > 1
            else "docs/settings.md has them all"
        )
        return Nearest().hint(str(self.place[-1]), self.names, all_names)


class Setting:
    """The declaration of one setting."""

    __slots__ = ("bounds", "check", "default", "default_factory", "description", "is_shown", "kind")

    def __init__(
        self,
        *,
        default: Any,
        default_factory: Callable[[], Any] | None,
        description: str,
        bounds: Mapping[str, float],
        is_shown: bool,
        check: Callable[[Any], object] | None,
    ) -> None:
        self.default, self.default_factory, self.description = default, default_factory, description
        #: By ``gt``, ``ge`` and ``le``.
        self.bounds = bounds
        #: Whether ``repr`` shows its value.
        self.is_shown = is_shown
        #: Raises ValueError for a value of the right type that is refused; the message is a sentence without the value.
        self.check = check
        #: The annotation, once the section is defined.
        self.kind: Any = None

    def without_value(self) -> Any:
        """Return the value where none is given."""
        if self.default_factory:
            return self.default_factory()
        return deepcopy(self.default) if isinstance(self.default, dict) else self.default

    def read(self, value: Any, place: Place, faults: list[Fault]) -> Any:
        """Return a given value as the declared type; what is wrong with it is added to ``faults``."""
        before = len(faults)
        found = _read(self.kind, value, place, faults)
        if found is None or len(faults) > before:
            return found
        for name, bound in self.bounds.items():
            words, holds = _BOUNDS[name]
            if not holds(found, bound):
                # A number, also if a variable holds it as text.
                faults.append(Fault(place, f"expected {words} {bound:g}, found {value}"))
                return found
        if self.check:
            try:
                self.check(found)
            except ValueError as error:
                faults.append(Fault(place, str(error)))
        return found


def is_section(kind: Any) -> bool:
    """Whether values of a type are sections."""
    return hasattr(kind, "declared")


def is_table(kind: Any) -> bool:
    """Whether values of a type are maps or sections."""
    return is_section(kind) or get_origin(kind) in _MAPS


def is_list(kind: Any) -> bool:
    """Whether values of a type are lists."""
    return get_origin(kind) is tuple


def members(kind: Any) -> Sequence[Any]:
    """Return the types of a union besides None, or the type itself."""
    return (
        [each for each in get_args(kind) if each is not NoneType]
        if get_origin(kind) in (Union, UnionType)
        else [kind]
    )


def _read(kind: Any, value: Any, place: Place, faults: list[Fault]) -> Any:
    alternatives = members(kind)
    if kind is Any or (value is None and alternatives != [kind]):
        return value
    kind = alternatives[0]
    if is_table(kind):
        return _table(kind, value, place, faults)
    if is_list(kind):
        return _list(kind, value, place, faults)
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        return value if value in choices else _refused(" or ".join(map(repr, choices)), value, place, faults)
    words, convert = _SCALARS[kind]
    try:
        return convert(value)
    except (TypeError, ValueError, OverflowError):
        return _refused(words, value, place, faults)


def _list(kind: Any, value: Any, place: Place, faults: list[Fault]) -> Any:
    if not isinstance(value, (list, tuple)):
        return _refused("a list", value, place, faults)
    of_items = get_args(kind)[0]
    return tuple(_read(of_items, each, (*place, number), faults) for number, each in enumerate(value))


def _table(kind: Any, value: Any, place: Place, faults: list[Fault]) -> Any:
    if is_section(kind) and isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        return _refused("a table", value, place, faults)
    if is_section(kind):
        return kind.read(value, place, faults)
    of_values = get_args(kind)[1]
    return {name: _read(of_values, each, (*place, name), faults) for name, each in value.items()}


def _refused(expected: str, value: Any, place: Place, faults: list[Fault]) -> Any:
    # Most settings are right.
    from hooks.values.type_words import type_word

    faults.append(Fault(place, f"expected {expected}, found {type_word(value, 'something else')}"))
    return None


def _truth(value: Any) -> bool:
    if isinstance(value, str):
        value = _TRUTHS.get(value.lower())
    if value not in (True, False):
        raise ValueError
    return bool(value)


def _whole(value: Any) -> int:
    number = float(value)
    if not number.is_integer():
        raise ValueError
    # A text of many digits is no float without loss.
    return (
        int(value) if isinstance(value, int) or (isinstance(value, str) and "." not in value) else int(number)
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _path(value: Any) -> Path:
    return Path(value)


def _secret(value: Any) -> Secret:
    return value if isinstance(value, Secret) else Secret(_text(value))


_SCALARS: Final[Mapping[Any, tuple[str, Callable[[Any], Any]]]] = {
    bool: ("true or false", _truth),
    int: ("a whole number", _whole),
    float: ("a number", float),
    str: ("a text", _text),
    Path: ("a path", _path),
    Secret: ("a text", _secret),
}
