"""Read the sections ``parameters`` and ``parameter_groups``."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from orchestrator.plugins.constraints import AllowedPattern, AllowedValues, Constraint, Length, Modulo, Range
from orchestrator.template.document import Path
from orchestrator.template.functions.base import kind_of
from orchestrator.template.parameter_types import KINDS, ParameterType, as_boolean, convert
from orchestrator.template.parameters import ParameterSchema
from orchestrator.template.sections import SectionReader
from orchestrator.template.versions import OCATA, QUEENS, V2013_05_23, HotVersion

_KEYS = ("type", "label", "description", "default", "hidden", "constraints", "immutable", "schema")
_KINDS = ("modulo", "range", "length", "allowed_values", "allowed_pattern", "custom_constraint")


class DeclarationReader:
    """Makes schemas of declarations; a declaration with a mistake gives a problem and no schema."""

    def __init__(self, reader: SectionReader) -> None:
        self._reader = reader

    def parameters(self, raw: Any) -> dict[str, ParameterSchema]:
        """Return the schemas of the section ``parameters``, in its order."""
        schemas = {}
        for name, declaration in self._reader.as_map(raw, ("parameters",), "parameters by name").items():
            before = len(self._reader.problems)
            schema = self._schema(name, declaration, ("parameters", name))
            if schema and len(self._reader.problems) == before:
                schemas[name] = schema
        return schemas

    def check_groups(self, raw: Any, declared: Mapping[str, Any]) -> None:
        """Check the section ``parameter_groups``, which only orders parameters for people."""
        if raw is None:
            return
        if not isinstance(raw, list):
            self._reader.fault(("parameter_groups",), f"expected a list of groups, found {kind_of(raw)}")
            return
        seen: set[str] = set()
        for index, group in enumerate(raw):
            self._check_group(group, ("parameter_groups", index), declared, seen)

    def _check_group(self, group: Any, path: Path, declared: Mapping[str, Any], seen: set[str]) -> None:
        names = group.get("parameters") if isinstance(group, dict) else None
        if not isinstance(names, list):
            self._reader.fault(path, "expected a map with a list of parameters' names under 'parameters'")
            return
        for index, name in enumerate(names):
            place = (*path, "parameters", index)
            if not isinstance(name, str):
                self._reader.fault(place, f"expected a parameter's name, found {kind_of(name)}")
            elif name in seen:
                self._reader.fault(place, f"the parameter {name!r} is in a group already")
            elif name not in declared:
                hint = self._reader.nearest.hint(name, declared)
                self._reader.fault(place, f"there is no parameter {name!r}", hint)
            else:
                seen.add(name)

    # -- one declaration ---------------------------------------------------------------------------------------

    def _schema(self, name: str, raw: Any, path: Path) -> ParameterSchema | None:
        reader = self._reader
        if name.startswith(("OS::", "AWS::")):
            reader.fault(path, "names that begin with 'OS::' or 'AWS::' are reserved")
        if not isinstance(raw, dict):
            reader.fault(path, f"expected a declaration, a map with a type, found {kind_of(raw)}")
            return None
        tags = reader.version >= QUEENS
        reader.check_keys(raw, path, known=(*_KEYS, "tags") if tags else _KEYS, later={"tags": QUEENS})
        kind = self._type(raw, path)
        if kind is None:
            return None
        schema = ParameterSchema(
            name=name,
            type=kind,
            label=reader.as_text(raw.get("label"), (*path, "label")),
            description=reader.as_text(raw.get("description"), (*path, "description")),
            default=raw.get("default"),
            hidden=self._boolean(raw, path, "hidden"),
            immutable=self._boolean(raw, path, "immutable"),
            tags=self._tags(raw, path),
            constraints=self._constraints(raw.get("constraints"), (*path, "constraints"), kind),
        )
        self._check_default(schema, path)
        return schema

    def _type(self, raw: dict[str, Any], path: Path) -> ParameterType | None:
        kinds = [kind.value for kind in ParameterType]
        given = raw.get("type")
        if given in kinds:
            return ParameterType(given)
        if given is None:
            self._reader.fault(path, "this parameter has no type", f"types: {', '.join(kinds)}")
            return None
        hint = self._reader.nearest.hint(str(given), kinds, f"types: {', '.join(kinds)}")
        found = repr(given) if isinstance(given, str) else kind_of(given)
        self._reader.fault((*path, "type"), f"there is no parameter type {found}", hint)
        return None

    def _boolean(self, raw: dict[str, Any], path: Path, key: str) -> bool:
        value = raw.get(key)
        try:
            return value is not None and as_boolean(value)
        except ValueError as error:
            self._reader.fault((*path, key), str(error))
            return False

    def _tags(self, raw: dict[str, Any], path: Path) -> tuple[str, ...]:
        tags = raw.get("tags") or []
        if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
            return tuple(tags)
        self._reader.fault((*path, "tags"), "expected a list of text")
        return ()

    def _check_default(self, schema: ParameterSchema, path: Path) -> None:
        if schema.default is None:
            return
        try:
            schema.value_of(schema.default)
        except ValueError as error:
            self._reader.fault((*path, "default"), f"the default is no value for this parameter: {error}")

    # -- constraints -------------------------------------------------------------------------------------------

    def _constraints(self, raw: Any, path: Path, kind: ParameterType) -> tuple[Constraint, ...]:
        if raw is None:
            return ()
        if not isinstance(raw, list):
            self._reader.fault(path, f"expected a list of constraints, found {kind_of(raw)}")
            return ()
        found = (self._constraint(item, (*path, index), kind) for index, item in enumerate(raw))
        return tuple(constraint for constraint in found if constraint)

    def _constraint(self, raw: Any, path: Path, kind: ParameterType) -> Constraint | None:
        if not isinstance(raw, dict):
            self._reader.fault(path, f"expected a constraint, a map, found {kind_of(raw)}")
            return None
        named = [name for name in _KINDS if name in raw]
        self._reader.check_keys(raw, path, known=(*_KINDS, "description"))
        if len(named) != 1:
            found = " and ".join(named) if named else "none"
            hint = "write each constraint as an item of its own" if named else f"kinds: {', '.join(_KINDS)}"
            self._reader.fault(path, f"expected exactly one kind of constraint, found {found}", hint)
            return None
        (name,) = named
        return self._of_kind(name, raw, path, kind)

    def _of_kind(self, name: str, raw: dict[str, Any], path: Path, kind: ParameterType) -> Constraint | None:
        reader, place = self._reader, (*path, name)
        if name not in _MAKERS:
            reader.fault(place, f"the constraint {name!r} is not supported yet")
            return None
        since, constraint_class, make = _MAKERS[name]
        if reader.version < since:
            reader.fault(place, f"the constraint {name!r} needs heat_template_version {since} or later")
            return None
        if not KINDS[kind] & constraint_class.valid_for:
            reader.fault(place, f"the constraint {name!r} does not apply to parameters of type {kind}")
            return None
        description = reader.as_text(raw.get("description"), (*path, "description"))
        try:
            return make(raw[name], kind, description)
        # Overflow, recursion: what the compiler of regular expressions says of some patterns.
        except (ValueError, OverflowError, RecursionError) as error:
            reader.fault(place, str(error))
            return None


def _range(raw: Any, _kind: ParameterType, description: str) -> Constraint:
    low, high = _two(raw, "min", "max")
    bounds = {"min": _number(low, "min"), "max": _number(high, "max")}
    return Range(**bounds, description=description)


def _length(raw: Any, _kind: ParameterType, description: str) -> Constraint:
    low, high = _two(raw, "min", "max")
    return Length(min=_whole(low, "min"), max=_whole(high, "max"), description=description)


def _modulo(raw: Any, _kind: ParameterType, description: str) -> Constraint:
    step, offset = (
        _whole(value, key) for key, value in zip(("step", "offset"), _two(raw, "step", "offset"), strict=True)
    )
    if step is None or offset is None:
        raise ValueError("expected both 'step' and 'offset'")
    return Modulo(step=step, offset=offset, description=description)


def _allowed_values(raw: Any, kind: ParameterType, description: str) -> Constraint:
    if not isinstance(raw, list):
        raise ValueError(f"expected a list of values, found {kind_of(raw)}")
    # The items of a list are compared as they are.
    values = raw if kind is ParameterType.LIST else [_allowed(kind, value) for value in raw]
    return AllowedValues(values=tuple(values), description=description)


def _allowed(kind: ParameterType, value: Any) -> Any:
    if value is None:
        raise ValueError("null is no value that could be allowed")
    return convert(kind, value)


def _allowed_pattern(raw: Any, _kind: ParameterType, description: str) -> Constraint:
    if not isinstance(raw, str):
        raise ValueError(f"expected a regular expression as text, found {kind_of(raw)}")
    return AllowedPattern(pattern=raw, description=description)


def _two(raw: Any, first: str, second: str) -> tuple[Any, Any]:
    """Return the values of the only two keys there may be; None for one that is missing."""
    if not isinstance(raw, dict):
        raise ValueError(f"expected a map with {first!r} and {second!r}, found {kind_of(raw)}")
    unknown = [key for key in raw if key not in (first, second)]
    if unknown:
        raise ValueError(f"there is no key {unknown[0]!r} here; expected {first!r} and {second!r}")
    return raw.get(first), raw.get(second)


def _number(value: Any, key: str) -> float | None:
    if value is None:
        return None
    try:
        number: float = convert(ParameterType.NUMBER, value)
    except ValueError as error:
        raise ValueError(f"{key!r}: {error}") from None
    return number


def _whole(value: Any, key: str) -> int | None:
    number = _number(value, key)
    if number is not None and not isinstance(number, int):
        raise ValueError(f"{key!r}: expected a whole number")
    return number


#: The version that brought a constraint, its class, and what makes one of what the template says.
_MAKERS: Final[
    Mapping[str, tuple[HotVersion, type[Constraint], Callable[[Any, ParameterType, str], Constraint]]]
] = {
    "modulo": (OCATA, Modulo, _modulo),
    "range": (V2013_05_23, Range, _range),
    "length": (V2013_05_23, Length, _length),
    "allowed_values": (V2013_05_23, AllowedValues, _allowed_values),
    "allowed_pattern": (V2013_05_23, AllowedPattern, _allowed_pattern),
}
