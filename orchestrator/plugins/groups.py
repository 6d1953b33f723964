"""Properties groups: rules on which properties of a resource may be given together, evaluated and described.

Resource types declare groups (:mod:`orchestrator.plugins.group_declarations` reads them). A group depends on which
properties are given, never on their values. The API version of a client plugin is a function that callers pass.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum, StrEnum
from functools import partial
from typing import Final

from hooks.values.dataclass import dataclass
from orchestrator.definition import UNKNOWN
from orchestrator.errors import NotVerified, PluginMistake, message_of
from orchestrator.plugins.api_versions import AllowedVersions, is_allowed
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.properties import PropertyError, PropertyNotVerified, PropertyPath
from orchestrator.sandbox.budget import outside


class Operator(StrEnum):
    """The operator of a combination."""

    #: Every operand holds.
    AND = "AND"
    #: At least one holds.
    OR = "OR"
    #: Exactly one holds, of however many there are.
    XOR = "XOR"
    #: One holds, or none.
    AT_MOST_ONE = "AT_MOST_ONE"


AND: Final = Operator.AND
OR: Final = Operator.OR
XOR: Final = Operator.XOR
AT_MOST_ONE: Final = Operator.AT_MOST_ONE
#: The key of a group of properties that only some API versions have.
API_VERSIONS: Final = "API_VERSIONS"
CLIENT_PLUGIN: Final = "CLIENT_PLUGIN"
VERSIONS: Final = "VERSIONS"
PROPERTIES: Final = "PROPERTIES"

#: In a path, any item of a list.
ANY_ITEM: Final = "*"


class Presence(IntEnum):
    """Whether a property is given."""

    NO = 0
    #: It is inside a value that is not known yet.
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class GivenPath:
    """An operand that holds if the property at a path is given."""

    steps: tuple[str, ...]

    @property
    def paths(self) -> tuple["GivenPath", ...]:
        """Itself."""
        return (self,)

    def is_above(self, other: "GivenPath") -> bool:
        """Return whether ``other`` is inside this path, so that it is given only if this one is."""
        return len(self.steps) < len(other.steps) and other.steps[: len(self.steps)] == self.steps

    def __str__(self) -> str:
        return ".".join(self.steps)


@dataclass(frozen=True, slots=True)
class Combination:
    """An expression of operands; its operator determines how many of them must hold."""

    operator: Operator
    operands: tuple["Expression", ...]

    @property
    def paths(self) -> tuple[GivenPath, ...]:
        """The paths in it, each once, in the order of the declaration."""
        return tuple(dict.fromkeys(path for operand in self.operands for path in operand.paths))


Expression = GivenPath | Combination


@dataclass(frozen=True, slots=True)
class VersionedProperties:
    """Properties that may be given only if the client plugin uses one of these API versions."""

    client_plugin: str
    versions: tuple[AllowedVersions, ...]
    paths: tuple[GivenPath, ...]


PropertiesGroup = Combination | VersionedProperties
#: Returns the API version that the client plugin of a name uses.
VersionOf = Callable[[str], str]


def group_errors(
    groups: Iterable[PropertiesGroup], given: Mapping[str, object], clients: NamedClients | None = None
) -> list[PropertyError]:
    """Return the violated groups: at most one error for each, in the order of the groups.

    Without ``clients``, groups that limit API versions are skipped.

    Raises:
        PropertyNotVerified: the API version of a client plugin could not be determined.
        PluginMistake: a client plugin returned an invalid version.
    """
    version_of = None if clients is None else partial(_version_of, clients)
    errors = (group_error(group, given, version_of) for group in groups)
    return [error for error in errors if error is not None]


def _version_of(clients: NamedClients, name: str) -> str:
    try:
        with outside():
            return clients.get(name).api_version
    except (NotVerified, PluginMistake):
        raise
    except Exception as error:
        # Whatever the error is, the properties may be valid.
        message = f"cannot determine the API version of the client plugin {name!r}: {message_of(error)}"
        raise NotVerified(message) from error


def group_error(
    group: PropertiesGroup, given: Mapping[str, object], version_of: VersionOf | None = None
) -> PropertyError | None:
    """Return the error if the group is violated, or None if it holds or depends on values that are not known yet.

    Args:
        group: The group.
        given: The properties as the template gives them, without defaults; ``UNKNOWN`` counts as given, and anything
            inside it as perhaps given.
        version_of: Called only if a group limits API versions and one of its properties is given. None: such groups
            are skipped.

    Raises:
        PropertyNotVerified: ``version_of`` raised NotVerified.
        PluginMistake: it returned an invalid version.
    """
    if isinstance(group, VersionedProperties):
        return None if version_of is None else _version_error(group, given, version_of)

    def is_given(path: GivenPath) -> Presence:
        return given_at(given, path.steps)

    found = [path for path in group.paths if is_given(path) is Presence.YES]
    verdict = holds(group, is_given)
    if verdict is Presence.NO:
        return PropertyError(
            _common(found or group.paths), f"expected {phrase(group)}, found {listed(found)}"
        )
    if verdict is Presence.YES and (loose := next(loose_ends(group, is_given), None)):
        path, alternative = loose
        message = f"expected {phrase(group)}, found {listed(found)}"
        hint = f"{path} may be given only as {phrase(alternative)}"
        return PropertyError(_common([path]), message, hint)
    return None


def given_at(value: object, steps: Sequence[str]) -> Presence:
    """Return whether there is a value at a path; null is no value, an empty map, list or text is one."""
    if value is None:
        return Presence.NO
    if not steps:
        return Presence.YES
    if value is UNKNOWN:
        return Presence.MAYBE
    if isinstance(value, Mapping):
        return given_at(value.get(steps[0]), steps[1:])
    if isinstance(value, (list, tuple)) and steps[0] == ANY_ITEM:
        return max((given_at(item, steps[1:]) for item in value), default=Presence.NO)
    return Presence.NO


def holds(expression: Expression, is_given: Callable[[GivenPath], Presence]) -> Presence:
    """Return whether an expression holds; MAYBE if that depends on values that are not known yet."""
    if isinstance(expression, GivenPath):
        return is_given(expression)
    verdicts = [holds(operand, is_given) for operand in expression.operands]
    match expression.operator:
        case Operator.AND:
            return min(verdicts)
        case Operator.OR:
            return max(verdicts)
    certain, possible = verdicts.count(Presence.YES), sum(map(bool, verdicts))
    least = 1 if expression.operator is XOR else 0
    if certain > 1 or possible < least:
        return Presence.NO
    return Presence.YES if possible <= 1 and certain >= least else Presence.MAYBE


def loose_ends(
    expression: Expression, is_given: Callable[[GivenPath], Presence]
) -> Iterator[tuple[GivenPath, Expression]]:
    """Yield given properties of an incomplete alternative, each with the alternative.

    If one alternative of XOR or AT_MOST_ONE holds, given properties of the others have no effect, unless the one that
    holds (or may hold) contains them, too, or something inside them.
    """
    if isinstance(expression, GivenPath):
        return
    held = [operand for operand in expression.operands if holds(operand, is_given)]
    if expression.operator in (XOR, AT_MOST_ONE):
        needed = [path for operand in held for path in operand.paths if is_given(path)]
        for operand in expression.operands:
            if operand in held:
                continue
            for path in operand.paths:
                if is_given(path) is Presence.YES and not any(
                    path == own or path.is_above(own) for own in needed
                ):
                    yield path, operand
    for operand in held:
        if holds(operand, is_given) is Presence.YES:
            yield from loose_ends(operand, is_given)


def _version_error(
    group: VersionedProperties, given: Mapping[str, object], version_of: VersionOf
) -> PropertyError | None:
    found = [path for path in group.paths if given_at(given, path.steps) is Presence.YES]
    if not found:
        return None
    message = f"expected {listed(found)} only with {versions_in_words(group)}"
    try:
        version = version_of(group.client_plugin)
        if is_allowed(version, group.versions):
            return None
    except NotVerified as error:
        raise PropertyNotVerified(PropertyError(_common(found), str(error))) from error
    except ValueError as error:
        raise PluginMistake(
            f"the API version of the client plugin {group.client_plugin!r} is invalid: {error}"
        ) from error
    now = f"version {version}" if version else "a system without versions"
    return PropertyError(_common(found), f"{message}, found {now}")


def _common(paths: Sequence[GivenPath]) -> PropertyPath:
    """Return the common prefix of the paths, up to the first step into a list."""
    first, *others = [path.steps for path in paths]
    common = 0
    for step in first:
        if step == ANY_ITEM or any(other[common : common + 1] != (step,) for other in others):
            break
        common += 1
    return first[:common]


def in_words(group: PropertiesGroup, name: Callable[[GivenPath], str] = str) -> str:
    """Return a group as a sentence, without its capital and its full stop. ``name`` formats a path."""
    if isinstance(group, VersionedProperties):
        return f"{listed(group.paths, name)} may be given only with {versions_in_words(group)}"
    may = "may" if group.operator is AT_MOST_ONE else "must"
    return f"{phrase(group, name)} {may} be given"


def phrase(expression: Expression, name: Callable[[GivenPath], str] = str) -> str:
    """Return an expression as a phrase, such as ``exactly one of content and (both source and url)``."""
    if isinstance(expression, GivenPath):
        return name(expression)
    operator, operands = expression.operator, expression.operands
    if len(operands) == 1:
        only = operands[0]
        if operator is not AT_MOST_ONE:
            return phrase(only, name)
        if isinstance(only, Combination) and only.operator is AND:
            return f"all or none of {_operands(only, name)}"
    if operator is AND:
        return f"{'both' if len(operands) == 2 else 'all of'} {_operands(expression, name)}"
    return f"{_COUNTS[operator]} {_operands(expression, name)}"


_COUNTS: Final = {OR: "at least one of", XOR: "exactly one of", AT_MOST_ONE: "at most one of"}


def _operands(expression: Combination, name: Callable[[GivenPath], str]) -> str:
    words = [
        phrase(operand, name) if isinstance(operand, GivenPath) else f"({phrase(operand, name)})"
        for operand in expression.operands
    ]
    return series(words, "and")


def listed(paths: Iterable[GivenPath], name: Callable[[GivenPath], str] = str) -> str:
    """Return paths as an enumeration for a sentence."""
    return series([name(path) for path in paths], "and") or "none of them"


def series(words: Sequence[str], last: str) -> str:
    """Return words with commas between them, and ``last`` before the last one."""
    return f" {last} ".join([*filter(None, [", ".join(words[:-1])]), *words[-1:]])


def versions_in_words(group: VersionedProperties) -> str:
    """Return the versions that a group allows, and their client plugin, as a phrase."""
    several = "s" if len(group.versions) > 1 else ""
    allowed = series(list(map(str, group.versions)), "or")
    return f"API version{several} {allowed} of the client plugin {group.client_plugin!r}"
