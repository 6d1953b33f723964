"""Properties and attributes of a resource type: their schemas, and the conversion of given values to types.

Checking and converting are one walk, so they cannot disagree: :func:`check_properties` collects every error,
:func:`convert_properties` stops at the first. Values that are not known yet (``UNKNOWN``) pass unchanged.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import field
from enum import StrEnum
from typing import Any, Final, NamedTuple, NoReturn

from hooks.values.dataclass import dataclass
from hooks.values.nearest import Nearest
from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.errors import NotVerified
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.constraints import Constraint, shown
from orchestrator.plugins.support import SUPPORTED, SupportStatus


class PropertyType(StrEnum):
    """The type of a property."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    MAP = "map"
    LIST = "list"
    ANY = "any"


#: The path of a value in ``properties``: ``("networks", 0, "port")``.
PropertyPath = tuple[str | int, ...]


def dotted(path: PropertyPath) -> str:
    """Return a path as text: ``networks[0].port``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


class PropertyError(ValueError):
    """A property at ``path`` has a wrong value, is missing, or is not in the schema; the path is empty for several.

    If ``message`` or ``hint`` contains a part of the value, ``veiled`` must be the same message without it: it is shown
    if the value may be a secret. No message contains the value of another property.
    """

    def __init__(self, path: PropertyPath, message: str, hint: str = "", *, veiled: str = "") -> None:
        super().__init__(path, message, hint)
        self.path, self.message, self.hint, self.veiled = path, message, hint, veiled

    def veil(self, path: PropertyPath) -> "PropertyError":
        """Return this error without the value, and with only so much of its path as may be shown."""
        return PropertyError(path, self.veiled or self.message, "" if self.veiled else self.hint)

    def __str__(self) -> str:
        return f"{dotted(self.path)}: {self._sentence}" if self.path else self._sentence

    @property
    def full_message(self) -> str:
        """The message with its path in the resource's definition: ``properties.networks[0].port: ...``."""
        return f"{dotted(('properties', *self.path))}: {self._sentence}"

    @property
    def _sentence(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class MissingProperty(PropertyError):
    """A required property is not given, at least not under this name."""


class UnknownProperty(PropertyError):
    """A given name is not in the schema."""


class PropertyNotVerified(NotVerified):
    """A property could not be verified, for another system could not be queried; ``fault`` has its path."""

    def __init__(self, fault: PropertyError) -> None:
        super().__init__(fault.full_message)
        self.fault = fault


class Walk(NamedTuple):
    """Options of a conversion: the handler of errors, whether constraints are checked, and the clients for that."""

    report: Callable[[PropertyError], None]
    constraints: bool
    clients: NamedClients | None = None
    #: Whether custom constraints are checked, too.
    custom: bool = True


def _raise(error: PropertyError) -> NoReturn:
    raise error


_CONVERTING: Final = Walk(_raise, constraints=True)
_CONVERTING_ONLY: Final = Walk(_raise, constraints=False)


@dataclass(frozen=True, kw_only=True)
class Property:
    """The schema of one property; immutable, so that classes may share it.

    Contradictions in it are reported when the class that contains it is defined, see
    :mod:`orchestrator.plugins.mistakes`.
    """

    type: PropertyType
    description: str = ""
    #: The value of a property that is not given; None: there is no default.
    default: Any = None
    required: bool = False
    #: Whether a change is applied in place; otherwise it replaces the resource.
    update_allowed: bool = False
    #: Whether a change is refused.
    immutable: bool = False
    #: Of a map: a schema for each child name. Of a list: the schema of every item. None: any.
    schema: "Mapping[str, Property] | Property | None" = None
    constraints: tuple[Constraint, ...] = ()
    support_status: SupportStatus = SUPPORTED
    #: Whether the property has an effect; if not, giving a value is refused.
    implemented: bool = True
    #: Whether its value is a secret, even where the template contains it: no text, event or log shows it.
    sensitive: bool = False
    _default: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        default = self.default
        if default is not None:
            # A wrong default is reported when the class is defined: the property's name is not known here.
            default = self.convert(default, (), Walk(lambda _: None, constraints=False))
        object.__setattr__(self, "_default", default)

    def default_faults(self) -> list[PropertyError]:
        """Return what is wrong with the default, except by custom constraints, which may not be installed."""
        faults: list[PropertyError] = []
        if self.default is not None:
            self.convert(self.default, (), Walk(faults.append, constraints=True, custom=False))
        return faults

    def absent(self) -> object:
        """Return the value of a property that is not given: a copy of its default, or None."""
        return deepcopy(self._default) if isinstance(self._default, (dict, list)) else self._default

    def convert(self, value: object, path: PropertyPath, walk: Walk) -> object:
        """Return ``value``, which may be null, converted to this type; ``UNKNOWN`` after reporting an error."""
        if value is UNKNOWN:
            return value
        if value is None and self.type is not PropertyType.ANY:
            value = _NULL[self.type] if self.default is None else self.default
        try:
            converted = self._with_type(value, path, walk)
        except _Unfit:
            expected = f"expected {_EXPECTED[self.type]}"
            message, veiled = f"{expected}, found {shown(value)}", f"{expected}, found something else"
            walk.report(PropertyError(path, message, _hint(self.type, value), veiled=veiled))
            return UNKNOWN
        if self.constraints and walk.constraints and not is_unknown(converted):
            for constraint in self.constraints:
                if constraint.is_custom and not walk.custom:
                    continue
                if wrong := _checked(constraint, converted, path, walk):
                    walk.report(PropertyError(path, wrong, veiled=constraint.describe()))
        return converted

    def _with_type(self, value: object, path: PropertyPath, walk: Walk) -> object:
        match self.type:
            case PropertyType.ANY:
                return value
            case PropertyType.MAP:
                if not isinstance(value, Mapping):
                    raise _Unfit
                if isinstance(self.schema, Mapping):
                    return convert_map(self.schema, value, path, walk)
                return dict(value)
            case PropertyType.LIST:
                if not isinstance(value, (list, tuple)):
                    raise _Unfit
                if isinstance(self.schema, Property):
                    convert = self.schema.convert
                    return [convert(item, (*path, index), walk) for index, item in enumerate(value)]
                return list(value)
        return _SCALARS[self.type](value)


#: The attributes of every resource: all attributes of its type, as one map. Types cannot define these names.
EVERY_ATTRIBUTE: Final = frozenset({"*", "show"})


class CacheMode(StrEnum):
    """How long the value of an attribute is kept."""

    #: As long as the resource does not change; a null is read again.
    LOCAL = "local"
    #: Not at all: the attribute is read whenever the resource is visited.
    NONE = "none"


@dataclass(frozen=True)
class Attribute:
    """The schema of one attribute of an existing resource."""

    description: str
    #: The type of its value; None if it varies. A value of another type is logged, and returned all the same.
    type: PropertyType | None = None
    support_status: SupportStatus = SUPPORTED
    #: Attributes of nested stacks are read at every visit, regardless of this.
    cache_mode: CacheMode = CacheMode.LOCAL
    #: Whether its value is a secret: no reason, event or log of a resource that refers to it shows it.
    sensitive: bool = False


def check_properties(
    schema: Mapping[str, Property],
    given: Mapping[str, object],
    *,
    accepts_anything: bool = False,
    clients: NamedClients | None = None,
) -> list[PropertyError]:
    """Return every error of ``given``: unknown and missing names, wrong types, violated constraints.

    Constraints are not checked on values that are or contain ``UNKNOWN``. Without ``clients``, no other system is
    queried.

    Raises:
        PropertyNotVerified: another system could not be queried.
    """
    errors: list[PropertyError] = []
    convert_map(schema, given, (), Walk(errors.append, constraints=True, clients=clients), accepts_anything)
    return errors


def convert_properties(
    schema: Mapping[str, Property],
    given: Mapping[str, object],
    *,
    accepts_anything: bool = False,
    constraints: bool = True,
    clients: NamedClients | None = None,
) -> dict[str, Any]:
    """Return typed properties in which every name of ``schema`` is a key, with defaults filled in.

    A name without value or default becomes None. Converting twice is not the same as once, since a given null
    becomes an empty value: keep the given properties, and convert those. With ``constraints=False`` none is checked,
    and nothing is required: a deletion must not fail because a rule became stricter, or because nothing was created.
    Without ``clients``, no other system is queried.

    Raises:
        PropertyError: the first error found.
        PropertyNotVerified: another system could not be queried.
    """
    walk = _CONVERTING._replace(clients=clients) if constraints else _CONVERTING_ONLY
    return convert_map(schema, given, (), walk, accepts_anything)


def _checked(constraint: Constraint, value: object, path: PropertyPath, walk: Walk) -> str | None:
    try:
        return constraint.check(value, clients=walk.clients)
    except NotVerified as error:
        raise PropertyNotVerified(PropertyError(path, str(error), veiled=constraint.doubt())) from error


def convert_map(
    schema: Mapping[str, Property],
    given: Mapping[str, object],
    path: PropertyPath,
    walk: Walk,
    accepts_anything: bool = False,
) -> dict[str, object]:
    """Return the same as :func:`convert_properties`, with ``UNKNOWN`` in place of values reported to ``walk``.

    Raises:
        PropertyNotVerified: another system could not be queried.
    """
    converted: dict[str, Any] = {}
    found = 0
    for name, prop in schema.items():
        if name in given:
            found += 1
            if walk.constraints and given[name] is not None:
                _refuse_unusable(prop, (*path, name), walk)
            converted[name] = prop.convert(given[name], (*path, name), walk)
        else:
            if walk.constraints and prop.required and prop.default is None:
                expected = f"expected {_EXPECTED[prop.type]}, found nothing"
                message = f"a value is required: {expected}"
                # Contains the name: the path may not be shown if the map may be a secret.
                veiled = f"a value of {name!r} is required: {expected}"
                walk.report(MissingProperty((*path, name), message, veiled=veiled))
            converted[name] = prop.absent()
    if found < len(given):
        unknown = [name for name in given if name not in schema]
        if accepts_anything:
            converted.update((name, given[name]) for name in unknown)
        else:
            _report_unknown(unknown, schema, path, walk)
    return converted


def _refuse_unusable(prop: Property, path: PropertyPath, walk: Walk) -> None:
    if not prop.implemented:
        walk.report(PropertyError(path, "it is not implemented, so nothing can be given", "take it away"))
    elif prop.support_status.is_refused:
        status = prop.support_status
        since = f" since {status.version}" if status.version else ""
        walk.report(PropertyError(path, f"it is not supported{since}", status.advice or "take it away"))


def _report_unknown(
    unknown: Iterable[str], schema: Mapping[str, Property], path: PropertyPath, walk: Walk
) -> None:
    offered = [name for name, prop in schema.items() if prop.support_status.is_offered and prop.implemented]
    nearest = Nearest()
    for name in unknown:
        known = ", ".join(sorted(offered)) or "none at all"
        hint = nearest.hint(str(name), offered, f"there are: {known}")
        veiled = f"it has a name that is no property; there are: {known}"
        walk.report(
            UnknownProperty((*path, name), f"there is no property {str(name)!r}", hint, veiled=veiled)
        )


class _Unfit(Exception):
    """The value cannot be converted to the type."""


def _to_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):  # true and false among them; a float has more than one spelling
        return str(value)
    raise _Unfit


def _to_integer(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise _Unfit from None


def _to_number(value: object) -> object:
    if isinstance(value, (int, float)):
        return value
    if not isinstance(value, str):
        raise _Unfit
    for number in (int, float):
        try:
            return number(value)
        except ValueError:
            continue
    raise _Unfit


def _to_boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _Unfit


_SCALARS: Final[Mapping[PropertyType, Callable[[Any], Any]]] = {
    PropertyType.STRING: _to_text,
    PropertyType.INTEGER: _to_integer,
    PropertyType.NUMBER: _to_number,
    PropertyType.BOOLEAN: _to_boolean,
}
#: By type: the value of a given null, where there is no default.
_NULL: Final[Mapping[PropertyType, Any]] = {
    PropertyType.STRING: "",
    PropertyType.INTEGER: 0,
    PropertyType.NUMBER: 0,
    PropertyType.BOOLEAN: False,
    PropertyType.MAP: {},
    PropertyType.LIST: [],
}
_EXPECTED: Final[Mapping[PropertyType, str]] = {
    PropertyType.STRING: "a text",
    PropertyType.INTEGER: "a whole number",
    PropertyType.NUMBER: "a number",
    PropertyType.BOOLEAN: "true or false",
    PropertyType.MAP: "a map",
    PropertyType.LIST: "a list",
    PropertyType.ANY: "a value",
}


def _hint(wanted: PropertyType, value: object) -> str:
    if wanted is PropertyType.STRING and isinstance(value, float):
        return "put it in quotes"
    if wanted is PropertyType.BOOLEAN and isinstance(value, (int, str)):
        return "other spellings, such as yes or 1, are not understood here"
    return ""
