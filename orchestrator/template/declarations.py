"""Reader of the sections ``parameters`` and ``parameter_groups``."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from orchestrator.config.limits import Limits
from orchestrator.plugins.constraints import AllowedValues, Constraint, Length, Modulo, Range
from orchestrator.plugins.custom import Custom
from orchestrator.sandbox.budget import check_time
from orchestrator.template.document import Path
from orchestrator.template.functions.base import kind_of
from orchestrator.template.parameter_types import KINDS, ParameterType, as_boolean, convert
from orchestrator.template.parameters import ParameterGroup, ParameterSchema
from orchestrator.template.patterns import BoundedPattern
from orchestrator.template.sections import SectionReader
from orchestrator.template.versions import OCATA, QUEENS, V2013_05_23, TemplateVersion

_KEYS = ("type", "label", "description", "default", "hidden", "constraints", "immutable", "schema")


class DeclarationReader:
    """Reads declarations into schemas; an invalid declaration gives a problem and no schema."""

    #: The names of types in declarations, and the key of the type.
    types: ClassVar[Mapping[str, ParameterType]] = {kind.value: kind for kind in ParameterType}
    type_key: ClassVar[str] = "type"

    def __init__(self, reader: SectionReader, limits: Limits) -> None:
        self._reader, self._limits = reader, limits

    def parameters(self, raw: object) -> dict[str, ParameterSchema]:
        """Return the schemas of the section of parameters, in its order."""
        schemas = {}
        section = (self._reader.dialect.parameters,)
        for name, declaration in self._reader.as_map(raw, section, "parameters by name").items():
            check_time(partial(self._reader.positions.problem, (*section, name)))
            before = len(self._reader.problems)
            schema = self._schema(name, declaration, (*section, name))
            if schema and len(self._reader.problems) == before:
                schemas[name] = schema
        return schemas

    def groups(self, raw: object, declared: Mapping[str, object]) -> tuple[ParameterGroup, ...]:
        """Return the groups of the section ``parameter_groups``."""
        if raw is None:
            return ()
        if not isinstance(raw, list):
            self._reader.fault(("parameter_groups",), f"expected a list of groups, found {kind_of(raw)}")
            return ()
        seen: set[str] = set()
        groups = (
            self._group(group, ("parameter_groups", index), declared, seen) for index, group in enumerate(raw)
        )
        return tuple(group for group in groups if group)

    def _group(
        self, group: Any, path: Path, declared: Mapping[str, Any], seen: set[str]
    ) -> ParameterGroup | None:
        names = group.get("parameters") if isinstance(group, dict) else None
        if not isinstance(names, list):
            self._reader.fault(path, "expected a map with a list of parameters' names under 'parameters'")
            return None
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
        return ParameterGroup(
            label=self._reader.as_text(group.get("label"), (*path, "label")),
            description=self._reader.as_text(group.get("description"), (*path, "description")),
            parameters=tuple(name for name in names if isinstance(name, str)),
        )

    def _schema(self, name: str, raw: object, path: Path) -> ParameterSchema | None:
        reader = self._reader
        if name.startswith(("OS::", "AWS::")):
            reader.fault(path, "names that begin with 'OS::' or 'AWS::' are reserved")
        if not isinstance(raw, dict):
            reader.fault(path, f"expected a declaration, a map with a type, found {kind_of(raw)}")
            return None
        schema = self._declared(name, raw, path)
        if schema:
            self._check_default(schema)
        return schema

    def _declared(self, name: str, raw: dict[str, object], path: Path) -> ParameterSchema | None:
        """Return the schema of a declaration in this format; None, after recording a problem, if it has no type."""
        reader, tags = self._reader, self._reader.version >= QUEENS
        reader.check_keys(
            raw, path, known=(*_KEYS, "tags") if tags else _KEYS, later={} if tags else {"tags": QUEENS}
        )
        kind = self._type(raw, path)
        if kind is None:
            return None
        return ParameterSchema(
            name=name,
            type=kind,
            path=path,
            label=reader.as_text(raw.get("label"), (*path, "label")),
            description=reader.as_text(raw.get("description"), (*path, "description")),
            default=raw.get("default"),
            hidden=self._boolean(raw, path, "hidden"),
            immutable=self._boolean(raw, path, "immutable"),
            tags=self._tags(raw, path),
            constraints=self._constraints(raw.get("constraints"), (*path, "constraints"), kind),
        )

    def _type(self, raw: dict[str, object], path: Path) -> ParameterType | None:
        kinds, given = self.types, raw.get(self.type_key)
        if isinstance(given, str) and given in kinds:
            return kinds[given]
        if given is None:
            self._reader.fault(path, "this parameter has no type", f"types: {', '.join(kinds)}")
            return None
        hint = self._reader.nearest.hint(str(given), kinds, f"types: {', '.join(kinds)}")
        found = repr(given) if isinstance(given, str) else kind_of(given)
        self._reader.fault((*path, self.type_key), f"there is no parameter type {found}", hint)
        return None

    def _boolean(self, raw: dict[str, object], path: Path, key: str) -> bool:
        value = raw.get(key)
        try:
            return value is not None and as_boolean(value)
        except ValueError as error:
            self._reader.fault((*path, key), str(error))
            return False

    def _tags(self, raw: dict[str, object], path: Path) -> tuple[str, ...]:
        tags = raw.get("tags") or []
        if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
            return tuple(tags)
        self._reader.fault((*path, "tags"), "expected a list of text")
        return ()

    def _check_default(self, schema: ParameterSchema) -> None:
        """Record a problem if the default violates a constraint; one of a wrong type is reported where it is used."""
        if schema.default is None or not _is_convertible(schema.type, schema.default):
            return
        # Custom constraints check the effective value, which may be another one than the default.
        own = tuple(each for each in schema.constraints if not isinstance(each, Custom))
        try:
            replace(schema, constraints=own).value_of(schema.default)
        except ValueError as error:
            place = (*schema.path, schema.default_key)
            self._reader.fault(place, f"the default is no value for this parameter: {error}")

    def _constraints(self, raw: object, path: Path, kind: ParameterType) -> tuple[Constraint, ...]:
        if raw is None:
            return ()
        if not isinstance(raw, list):
            self._reader.fault(path, f"expected a list of constraints, found {kind_of(raw)}")
            return ()
        found = (self._constraint(item, (*path, index), kind) for index, item in enumerate(raw))
        return tuple(constraint for constraint in found if constraint)

    def _constraint(self, raw: object, path: Path, kind: ParameterType) -> Constraint | None:
        check_time(partial(self._reader.positions.problem, path))
        if not isinstance(raw, dict):
            self._reader.fault(path, f"expected a constraint, a map, found {kind_of(raw)}")
            return None
        named = [name for name in _MAKERS if name in raw]
        self._reader.check_keys(raw, path, known=(*_MAKERS, "description"))
        if len(named) != 1:
            found = " and ".join(named) if named else "none"
            hint = "write each constraint as an item of its own" if named else f"kinds: {', '.join(_MAKERS)}"
            self._reader.fault(path, f"expected exactly one kind of constraint, found {found}", hint)
            return None
        (name,) = named
        return self._of_kind(name, raw, path, kind)

    def _of_kind(
        self, name: str, raw: dict[str, object], path: Path, kind: ParameterType
    ) -> Constraint | None:
        reader, place = self._reader, (*path, name)
        since, constraint_class, make = _MAKERS[name]
        if reader.version < since:
            reader.fault(place, f"the constraint {name!r} needs heat_template_version {since} or later")
            return None
        description = reader.as_text(raw.get("description"), (*path, "description"))
        return self._made(
            constraint_class, place, kind, lambda: make(raw[name], kind, description, self._limits)
        )

    def _made(
        self,
        constraint_class: type[Constraint],
        place: Path,
        kind: ParameterType,
        make: Callable[[], Constraint],
    ) -> Constraint | None:
        """Return what ``make`` returns; None, after recording a problem, if it does not apply to this type."""
        if not KINDS[kind] & constraint_class.valid_for:
            message = f"the constraint {place[-1]!r} does not apply to parameters of type {kind}"
            self._reader.fault(place, message)
            return None
        try:
            return make()
        except ValueError as error:
            self._reader.fault(place, str(error))
            return None


def _is_convertible(kind: ParameterType, value: object) -> bool:
    try:
        convert(kind, value)
    except ValueError:
        return False
    return True


def _range(raw: object, _kind: ParameterType, description: str, _limits: Limits) -> Constraint:
    low, high = _two(raw, "min", "max")
    bounds = {"min": number_of(low, "min"), "max": number_of(high, "max")}
    return Range(**bounds, description=description)


def _length(raw: object, _kind: ParameterType, description: str, _limits: Limits) -> Constraint:
    low, high = _two(raw, "min", "max")
    return Length(min=whole_number_of(low, "min"), max=whole_number_of(high, "max"), description=description)


def _modulo(raw: object, _kind: ParameterType, description: str, _limits: Limits) -> Constraint:
    step, offset = (
        whole_number_of(value, key)
        for key, value in zip(("step", "offset"), _two(raw, "step", "offset"), strict=True)
    )
    if step is None or offset is None:
        raise ValueError("expected both 'step' and 'offset'")
    return Modulo(step=step, offset=offset, description=description)


def allowed_values(raw: object, kind: ParameterType, description: str, _limits: Limits) -> Constraint:
    """Return the constraint for a list of values of this type.

    Raises:
        ValueError: ``raw`` is no such list.
    """
    if not isinstance(raw, list):
        raise ValueError(f"expected a list of values, found {kind_of(raw)}")
    # The items of lists are compared without conversion.
    values = raw if kind is ParameterType.LIST else [_allowed(kind, value) for value in raw]
    return AllowedValues(values=tuple(values), description=description)


def _allowed(kind: ParameterType, value: object) -> object:
    if value is None:
        raise ValueError("null is no value that could be allowed")
    return convert(kind, value)


def allowed_pattern(raw: object, _kind: ParameterType, description: str, limits: Limits) -> Constraint:
    """Return the constraint for a regular expression, matched within ``limits``.

    Raises:
        ValueError: ``raw`` is none, or one that cannot be compiled within them.
    """
    if not isinstance(raw, str):
        raise ValueError(f"expected a regular expression as text, found {kind_of(raw)}")
    return BoundedPattern(pattern=raw, limits=limits, description=description)


def _custom_constraint(raw: object, _kind: ParameterType, description: str, _limits: Limits) -> Constraint:
    if not isinstance(raw, str):
        raise ValueError(f"expected a custom constraint's name, found {kind_of(raw)}")
    return Custom(name=raw, description=description)


def _two(raw: object, first: str, second: str) -> tuple[object, object]:
    """Return the values of the only two allowed keys; None for a missing one."""
    if not isinstance(raw, dict):
        raise ValueError(f"expected a map with {first!r} and {second!r}, found {kind_of(raw)}")
    unknown = [key for key in raw if key not in (first, second)]
    if unknown:
        raise ValueError(f"there is no key {unknown[0]!r} here; expected {first!r} and {second!r}")
    return raw.get(first), raw.get(second)


def number_of(value: object, key: str) -> float | None:
    """Return a bound as a number, which may be written as text; None for null.

    Raises:
        ValueError: ``value`` is no number; the message names ``key``.
    """
    if value is None:
        return None
    try:
        number: float = convert(ParameterType.NUMBER, value)
    except ValueError as error:
        raise ValueError(f"{key!r}: {error}") from None
    return number


def whole_number_of(value: object, key: str) -> int | None:
    """Return a bound as a whole number, which may be written as text; None for null.

    Raises:
        ValueError: ``value`` is no whole number; the message names ``key``.
    """
    number = number_of(value, key)
    if number is not None and not isinstance(number, int):
        raise ValueError(f"{key!r}: expected a whole number")
    return number


_Maker = Callable[[Any, ParameterType, str, Limits], Constraint]

#: By key: the first version with the constraint, its class, and the function that builds one from its raw value.
_MAKERS: Final[Mapping[str, tuple[TemplateVersion, type[Constraint], _Maker]]] = {
    "modulo": (OCATA, Modulo, _modulo),
    "range": (V2013_05_23, Range, _range),
    "length": (V2013_05_23, Length, _length),
    "allowed_values": (V2013_05_23, AllowedValues, allowed_values),
    "allowed_pattern": (V2013_05_23, BoundedPattern, allowed_pattern),
    "custom_constraint": (V2013_05_23, Custom, _custom_constraint),
}
