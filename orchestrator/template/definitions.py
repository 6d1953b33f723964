"""What a template says about one resource and one output, ready to be evaluated.

A resource's definition can be taken apart to a *fragment*, plain types that are stored once per resource, from
which a worker rebuilds it without the template.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from orchestrator.config.limits import Limits
from orchestrator.definition import AttributePath, StackDefinition
from orchestrator.errors import PluginMistake, Position, Problem
from orchestrator.plugins.properties import PropertyError
from orchestrator.template.dialects import Dialect, dialect_of
from orchestrator.template.document import PackedPositions, Path, Positions
from orchestrator.template.expressions import Expression, ExpressionParser
from orchestrator.template.functions.base import Function, ResolveError, Scope
from orchestrator.template.functions.registry import all_functions
from orchestrator.template.reading import Where
from orchestrator.template.versions import TemplateVersion, version_of_date

__all__ = ["OutputDefinition", "ResolveError", "ResourceDefinition"]

#: The keys of a fragment that say only where things stood in the text: they change when a line is put in above.
PLACE_KEYS: Final = frozenset({"f", "w"})

DELETE: Final = "Delete"
RETAIN: Final = "Retain"
SNAPSHOT: Final = "Snapshot"


@dataclass(frozen=True, kw_only=True)
class ResourceDefinition:
    """One entry of the section ``resources``."""

    name: str
    type: str
    version: TemplateVersion
    positions: Positions = field(repr=False, compare=False)
    depends_on: tuple[str, ...] = ()
    #: As written, with calls as one-key maps, but for what was decided; not to be changed.
    properties: Any = field(default_factory=dict)
    #: As :attr:`properties`.
    metadata: Any = field(default_factory=dict)
    #: ``Delete``, ``Retain`` or ``Snapshot``.
    deletion_policy: str = DELETE
    #: How an update goes about it, in the words of the type.
    update_policy: Mapping[str, Any] = field(default_factory=dict)
    #: The physical id of what exists already and is never changed; None for what is to be made.
    external_id: str | None = None
    description: str = ""
    properties_expression: Expression = field(repr=False, compare=False)
    metadata_expression: Expression = field(repr=False, compare=False)
    #: The files that came with the template: what a get_file whose key is a call may read.
    all_files: Iterable[str] = field(default=(), repr=False, compare=False)

    @property
    def dialect(self) -> Dialect:
        """The words of the template's format."""
        return dialect_of(self.version)

    @property
    def path(self) -> Path:
        """Where the resource stands in the template."""
        return (self.dialect.resources, self.name)

    @property
    def position(self) -> Position:
        """Where the resource's name stands in the template's text."""
        return self.positions.at(self.path)

    @cached_property
    def requirements(self) -> frozenset[str]:
        """The resources that must be complete before this one: by depends_on, and by calls."""
        called = (*self.properties_expression.requirements(), *self.metadata_expression.requirements())
        return frozenset((*self.depends_on, *called))

    @cached_property
    def required_attributes(self) -> frozenset[tuple[str, AttributePath]]:
        """The attributes of other resources that the calls here ask for: resource name, attribute with its path."""
        expressions = (self.properties_expression, self.metadata_expression)
        return frozenset(asked for each in expressions for asked in each.required_attributes())

    @cached_property
    def required_files(self) -> frozenset[str]:
        """The keys of the files that are read here; all there are, where only a call tells the key."""
        keys: set[str] = set()
        for call in (*self.properties_expression.calls, *self.metadata_expression.calls):
            files = call.required_files()
            if files is None:
                # Often very many, for many resources: one set for all of them.
                return frozenset(self.all_files)
            keys.update(files)
        return frozenset(keys)

    def place_of(self, name: str, attribute: AttributePath) -> Path:
        """Return where the first call stands that asks for this attribute of the resource ``name``."""
        return self._asking.get((name, attribute), self.path)

    @cached_property
    def _asking(self) -> dict[tuple[str, AttributePath], Path]:
        return _asking((*self.properties_expression.calls, *self.metadata_expression.calls))

    def resolve_properties(self, stack: StackDefinition) -> dict[str, Any]:
        """Return the properties with all calls evaluated; ``UNKNOWN`` stands where a value is not known yet.

        Raises:
            ResolveError: a call failed, or the properties as a whole come from a call that gives no map.
        """
        return self._resolve(self.properties_expression, self.dialect.properties, stack)

    def tellable(self, fault: PropertyError, hidden: Collection[str]) -> PropertyError:
        """Return an error of these properties as people may read it.

        Without the value, unless the template itself says it or makes it of parameters that are not ``hidden``.
        """
        shown = self.properties_expression.covered(fault.path, hidden)
        return fault if shown is None else fault.veil(shown)

    def resolve_metadata(self, stack: StackDefinition) -> dict[str, Any]:
        """Return the metadata with all calls evaluated; ``UNKNOWN`` stands where a value is not known yet.

        Raises:
            ResolveError: a call failed, or the metadata as a whole come from a call that gives no map.
        """
        return self._resolve(self.metadata_expression, self.dialect.metadata, stack)

    def _resolve(self, expression: Expression, section: str, stack: StackDefinition) -> dict[str, Any]:
        value = expression.resolve(stack)
        if value is None:
            return {}
        if not isinstance(value, dict):
            message = f"the {section} as a whole must be a map when they are resolved"
            hint = "give each entry its own call"
            raise ResolveError(self.positions.problem((*self.path, section), message, hint))
        return value

    def fragment(self) -> dict[str, Any]:
        """Return plain types from which :meth:`from_fragment` rebuilds the definition; what is empty is left out.

        Where things stood is in the keys of ``PLACE_KEYS``: of the resource and of each property.
        """
        parts = {
            "p": self.properties,
            "m": self.metadata,
            "d": list(self.depends_on),
            "x": "" if self.deletion_policy == DELETE else self.deletion_policy,
            "u": self.update_policy,
            "e": self.external_id,
            "n": self.description,
            "c": sorted(
                {call.name for call in (*self.properties_expression.calls, *self.metadata_expression.calls)}
            ),
        }
        return {
            "t": self.type,
            "v": self.version.date,
            "f": self.positions.file,
            "w": self._places(),
            **{key: part for key, part in parts.items() if part},
        }

    def _places(self) -> list[Where]:
        own = self.positions.where(self.path)
        if not isinstance(self.properties, dict):
            return [own]
        place = (*self.path, self.dialect.properties)
        return [own, *(self.positions.where((*place, name)) for name in self.properties)]

    @classmethod
    def from_fragment(
        cls, name: str, fragment: Mapping[str, Any], limits: Limits | None = None
    ) -> "ResourceDefinition":
        """Rebuild a definition from what :meth:`fragment` gave.

        Raises:
            PluginMistake: the fragment was made by another version of this software.
            ResolveError: it calls a function that is installed where it was made, but not here.
        """
        version = version_of_date(fragment.get("v", ""))
        if version is None or "t" not in fragment:
            raise PluginMistake(f"resource {name!r}: a fragment of an unknown shape")
        properties, metadata = fragment.get("p", {}), fragment.get("m", {})
        words = dialect_of(version)
        path = (words.resources, name)
        positions = FragmentPositions((*path, words.properties), fragment)
        properties_expression, metadata_expression = Expression(properties), Expression(metadata)
        if fragment.get("c"):
            _refuse_unknown(fragment["c"], name, positions.at(path))
            problems: list[Problem] = []
            scope = Scope(version=version, positions=positions, limits=limits or Limits())
            parser = ExpressionParser(scope, problems)
            properties_expression = parser.parse(properties, (*path, words.properties))
            metadata_expression = parser.parse(metadata, (*path, words.metadata))
            if problems:
                raise ResolveError(problems[0])
        return cls(
            name=name,
            type=fragment["t"],
            version=version,
            positions=positions,
            depends_on=tuple(fragment.get("d", ())),
            properties=properties,
            metadata=metadata,
            deletion_policy=deletion_policy_of(fragment),
            update_policy=fragment.get("u", {}),
            external_id=fragment.get("e"),
            description=fragment.get("n", ""),
            properties_expression=properties_expression,
            metadata_expression=metadata_expression,
        )


def deletion_policy_of(fragment: Mapping[str, Any]) -> str:
    """Return the deletion policy that a definition's fragment holds, without rebuilding the definition."""
    policy: str = fragment.get("x", DELETE)
    return policy


def _refuse_unknown(functions: Iterable[str], name: str, position: Position) -> None:
    """Refuse a fragment that calls what is not installed here: it would be taken for data."""
    for function in functions:
        if function not in all_functions():
            message = (
                f"resource {name!r} calls the function {function}, which is not installed where the check ran"
            )
            raise ResolveError(Problem(message=message, position=position))


class FragmentPositions(PackedPositions):
    """The positions a fragment holds, unpacked only when somebody asks."""

    def __init__(self, properties: Path, fragment: Mapping[str, Any]) -> None:
        super().__init__(fragment.get("f", ""), {})
        self._properties, self._fragment = properties, fragment

    def where(self, path: Path) -> Where:
        """Return the packed position of ``path``, or of its nearest ancestor."""
        if not self._known:
            own, *places = self._fragment.get("w") or [0]
            properties = [(*self._properties, name) for name in self._fragment.get("p", ())]
            self._known = {self._properties[:-1]: own, **dict(zip(properties, places, strict=False))}
        return super().where(path)


@dataclass(frozen=True, kw_only=True)
class OutputDefinition:
    """One entry of the section ``outputs``; one whose condition does not hold has the value null."""

    name: str
    #: Where the output stands in the template.
    path: Path
    description: str = ""
    expression: Expression = field(repr=False, compare=False)

    @cached_property
    def requirements(self) -> frozenset[str]:
        """The resources that the value refers to."""
        return frozenset(self.expression.requirements())

    @cached_property
    def required_attributes(self) -> frozenset[tuple[str, AttributePath]]:
        """The attributes that the value asks for: resource name, attribute with its path."""
        return frozenset(self.expression.required_attributes())

    def place_of(self, name: str, attribute: AttributePath) -> Path:
        """Return where the first call stands that asks for this attribute of the resource ``name``."""
        return self._asking.get((name, attribute), self.path)

    @cached_property
    def _asking(self) -> dict[tuple[str, AttributePath], Path]:
        return _asking(self.expression.calls)

    def resolve(self, stack: StackDefinition) -> Any:
        """Return the value; ``UNKNOWN`` stands where it is not known yet.

        Raises:
            ResolveError: a call failed.
        """
        return self.expression.resolve(stack)


def _asking(calls: Sequence[Function]) -> dict[tuple[str, AttributePath], Path]:
    """Return where the first call stands that asks for each attribute."""
    return {asked: call.path for call in reversed(calls) for asked in call.required_attributes()}
