"""Declarations of properties groups in resource types, and their validation.

::

    properties_groups_schema = [
        {XOR: [["content"], {AND: [["source", "url"], ["source", "digest"]]}]},
        {API_VERSIONS: {CLIENT_PLUGIN: "nova", VERSIONS: ["2.26-2.90", ">=3"], PROPERTIES: [["tags"]]}},
    ]

A path is always a list, from the property inwards; ``*`` is any item of a list. All groups must hold.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

from hooks.values.nearest import Nearest
from orchestrator.errors import PluginMistake
from orchestrator.plugins.api_versions import AllowedVersions
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.constraints import shown
from orchestrator.plugins.group_tables import MOST_PATHS, combinations, is_fine
from orchestrator.plugins.groups import (
    ANY_ITEM,
    API_VERSIONS,
    CLIENT_PLUGIN,
    PROPERTIES,
    VERSIONS,
    Combination,
    Expression,
    GivenPath,
    Operator,
    PropertiesGroup,
    VersionedProperties,
    in_words,
    listed,
)
from orchestrator.plugins.properties import Property, PropertyType

Parsed = TypeVar("Parsed")

#: The limit of nested expressions, which also stops at lists that contain themselves.
_DEEPEST: Final = 32
_OPERATORS: Final = tuple(map(str, Operator))
_KINDS: Final = (*_OPERATORS, API_VERSIONS)
#: The spellings of kinds: operators may be in lower case, as in Heat.
_SPELLINGS: Final = frozenset({*_KINDS, *map(str.lower, _OPERATORS)})
_VERSION_KEYS: Final = (CLIENT_PLUGIN, VERSIONS, PROPERTIES)


def properties_groups(
    declared: object, schema: Mapping[str, Property], *, accepts_anything: bool = False
) -> tuple[PropertiesGroup, ...]:
    """Return the groups that a type declares, checked against its properties.

    Raises:
        PluginMistake: a group is malformed, names no property, or excludes nothing or everything.
    """
    groups = parse_groups(declared)
    for number, group in enumerate(groups):
        _Check(f"{_ROOT}[{number}]", schema, accepts_anything=accepts_anything).check(group)
    return groups


def parse_groups(declared: object) -> tuple[PropertiesGroup, ...]:
    """Return the declared groups, without checking them against properties.

    Raises:
        PluginMistake: a group is malformed.
    """
    if not isinstance(declared, (list, tuple)):
        raise PluginMistake(f"{_ROOT}: expected a list of groups, found {shown(declared)}")
    return tuple(_group(each, f"{_ROOT}[{number}]") for number, each in enumerate(declared))


_ROOT: Final = "properties_groups_schema"


def _group(declared: object, where: str) -> PropertiesGroup:
    kind, value = _only_entry(declared, where)
    if kind == API_VERSIONS:
        return _versioned(value, f"{where}.{kind}")
    return _combination(kind, value, where, 1)


def _combination(kind: str, value: object, where: str, depth: int) -> Combination:
    if kind == API_VERSIONS:
        raise PluginMistake(
            f"{where}: {kind} cannot be inside another group: make it a group of its own beside this one"
        )
    if depth > _DEEPEST:
        raise PluginMistake(f"{where}: groups are inside each other more than {_DEEPEST} times")
    where = f"{where}.{kind}"
    operands: list[Expression] = []
    for index, each in enumerate(_filled(value, where, "paths and groups")):
        place = f"{where}[{index}]"
        operand: Expression
        if isinstance(each, Mapping):
            operand = _combination(*_only_entry(each, place), place, depth + 1)
        else:
            operand = _path(each, place)
        if operand in operands:
            raise PluginMistake(f"{place}: it is there already, as {where}[{operands.index(operand)}]")
        operands.append(operand)
    return Combination(Operator(kind.upper()), tuple(operands))


def _only_entry(declared: object, where: str) -> tuple[str, object]:
    if not isinstance(declared, Mapping):
        raise PluginMistake(f"{where}: expected a map with one operator, found {shown(declared)}")
    if len(declared) != 1:
        found = ", ".join(map(str, declared)) or "none"
        raise PluginMistake(f"{where}: expected a map with one operator, found {found}")
    [(kind, value)] = declared.items()
    if kind not in _SPELLINGS:
        raise PluginMistake(f"{where}: there is no operator {kind!r} ({_hint(str(kind), _KINDS)})")
    return str(kind), value


def _path(declared: Any, where: str) -> GivenPath:
    if isinstance(declared, str):
        raise PluginMistake(
            f"{where}: expected a path, which is a list, found {declared!r}: write [{declared!r}]"
        )
    for step in _filled(declared, where, "names, the path of a property"):
        if not isinstance(step, str) or not step:
            raise PluginMistake(
                f"{where}: the steps of a path are names, or '*' for any item of a list, not {step!r}"
            )
    return GivenPath(tuple(map(str, declared)))


def _versioned(declared: object, where: str) -> VersionedProperties:
    if not isinstance(declared, Mapping):
        raise PluginMistake(f"{where}: expected a map of {', '.join(_VERSION_KEYS)}, found {shown(declared)}")
    for key in declared:
        if key not in _VERSION_KEYS:
            raise PluginMistake(f"{where}: there is no {key!r} here ({_hint(str(key), _VERSION_KEYS)})")
    for key in _VERSION_KEYS:
        if key not in declared:
            raise PluginMistake(f"{where}: expected {', '.join(_VERSION_KEYS)}; {key} is missing")
    plugin = _plugin_name(declared[CLIENT_PLUGIN], f"{where}.{CLIENT_PLUGIN}")
    versions, paths = f"{where}.{VERSIONS}", f"{where}.{PROPERTIES}"
    return VersionedProperties(
        plugin,
        _each(declared[VERSIONS], versions, "versions", _version),
        _each(declared[PROPERTIES], paths, "paths", _path),
    )


def _plugin_name(declared: object, where: str) -> str:
    is_class = isinstance(declared, type) and issubclass(declared, ClientPlugin)
    name = getattr(declared, "name", "") if is_class else declared
    if not isinstance(name, str) or not name:
        raise PluginMistake(
            f"{where}: expected the name of a client plugin, or its class, found {declared!r}"
        )
    return name


def _version(declared: object, where: str) -> AllowedVersions:
    if not isinstance(declared, str):
        raise PluginMistake(f"{where}: expected a text such as '2.1', found {declared!r}")
    try:
        return AllowedVersions(declared)
    except ValueError as error:
        raise PluginMistake(f"{where}: {error}") from error


def _each(
    declared: object, where: str, what: str, parse: Callable[[object, str], Parsed]
) -> tuple[Parsed, ...]:
    found: list[Parsed] = []
    for index, each in enumerate(_filled(declared, where, what)):
        parsed = parse(each, f"{where}[{index}]")
        if parsed in found:
            raise PluginMistake(f"{where}[{index}]: it is there already, as {where}[{found.index(parsed)}]")
        found.append(parsed)
    return tuple(found)


def _filled(declared: object, where: str, what: str) -> Sequence[object]:
    if not isinstance(declared, (list, tuple)):
        raise PluginMistake(f"{where}: expected a list of {what}, found {shown(declared)}")
    if not declared:
        raise PluginMistake(f"{where}: expected a list of {what}, found an empty one")
    return declared


def _hint(name: str, names: Sequence[str]) -> str:
    # Operators in mixed case are the likeliest mistake, and difflib is case-sensitive.
    return Nearest().hint(name.upper(), names, f"there are: {', '.join(names)}")


class _Check:
    def __init__(self, where: str, schema: Mapping[str, Property], *, accepts_anything: bool) -> None:
        self._where, self._schema, self._accepts_anything = where, schema, accepts_anything

    def check(self, group: PropertiesGroup) -> None:
        """Check that all paths exist, and that the group excludes something but not everything.

        Raises:
            PluginMistake: a check failed.
        """
        required = frozenset([path for path in group.paths if self._is_always_given(path)])
        if isinstance(group, Combination) and len(group.paths) <= MOST_PATHS:
            self._refuse_useless(group, required)

    def _is_always_given(self, path: GivenPath) -> bool:
        children: Mapping[str, Property] | None = self._schema
        always = True
        for place, step in enumerate(path.steps):
            if children is None or (step not in children and not place and self._accepts_anything):
                return False  # Any property may be given, or not.
            if step not in children:
                self._refuse(path, place, children)
            found = children[step]
            if not found.implemented or found.support_status.is_refused:
                inside = ".".join(path.steps[: place + 1])
                raise PluginMistake(f"{self._where}: {path} can never be given: {inside} is not supported")
            always = always and step != ANY_ITEM and found.required and found.default is None
            children = _children(found)
        return always

    def _refuse(self, path: GivenPath, place: int, children: Mapping[str, Property]) -> NoReturn:
        inside, step = ".".join(path.steps[:place]), path.steps[place]
        wrong = f"{self._where}: the path {path} leads nowhere:"
        if not children:
            raise PluginMistake(f"{wrong} nothing is inside {inside}")
        if ANY_ITEM in children and len(children) == 1:
            raise PluginMistake(f"{wrong} {inside} is a list, of which {ANY_ITEM!r} is any item")
        hint = Nearest().hint(step, children, f"there are: {', '.join(sorted(children))}")
        raise PluginMistake(
            f"{wrong} there is no property {step!r}{f' in {inside}' if inside else ''} ({hint})"
        )

    def _refuse_useless(self, group: Combination, required: frozenset[GivenPath]) -> None:
        every = list(combinations(group, required))
        allowed = [given for given in every if is_fine(group, given)]
        since = f", since {listed(sorted(required, key=str))} is required" if required else ""
        wrong = f"{self._where}: {in_words(group)}:"
        if not allowed:
            raise PluginMistake(f"{wrong} that can never be{since}")
        if len(allowed) == len(every):
            raise PluginMistake(f"{wrong} that excludes nothing{since}")
        for path in group.paths:
            if not any(path in given for given in allowed):
                raise PluginMistake(f"{wrong} so {path} could never be given{since}")


def _children(schema: Property) -> Mapping[str, Property] | None:
    """Return the possible next steps of a path; None: any, depending on the given values."""
    if schema.type is PropertyType.LIST:
        return {ANY_ITEM: schema.schema if isinstance(schema.schema, Property) else _ANYTHING}
    if schema.type is PropertyType.MAP and isinstance(schema.schema, Mapping):
        return schema.schema
    return None if schema.type in (PropertyType.MAP, PropertyType.ANY) else {}


_ANYTHING: Final = Property(type=PropertyType.ANY)
