"""Definitions of resources and outputs: entries of a template, ready to be evaluated.

A resource's definition converts to a *fragment*, plain types that are stored once per resource, from which a worker
rebuilds it without the template.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.config.limits import Limits
from orchestrator.definition import AttributePath, StackDefinition
from orchestrator.errors import PluginMistake, Position, Problem
from orchestrator.plugins.properties import Property, PropertyError
from orchestrator.plugins.sensitive import is_sensitive
from orchestrator.template.dialects import Dialect, dialect_of
from orchestrator.template.document import PackedPositions, Path, Positions
from orchestrator.template.expressions import Expression, ExpressionParser
from orchestrator.template.functions.base import Function, ResolveError, Scope
from orchestrator.template.functions.registry import all_functions
from orchestrator.template.reading import Where
from orchestrator.template.versions import TemplateVersion, version_of_date

__all__ = ["OutputDefinition", "ResolveError", "ResourceDefinition"]

#: The keys of a fragment with positions in the text only: they change when a line is inserted above.
PLACE_KEYS: Final = frozenset({"f", "w"})

#: Of a type that declares no properties, or is not known.
NO_SCHEMA: Final[Mapping[str, Property]] = MappingProxyType({})
DELETE: Final = "Delete"
RETAIN: Final = "Retain"
SNAPSHOT: Final = "Snapshot"


class Definition(ABC):
    """Base of the definitions of resources and outputs, whose values may refer to resources."""

    @property
    @abstractmethod
    def calls(self) -> tuple[Function, ...]:
        """The calls in its values."""

    @cached_property
    def required_attributes(self) -> frozenset[tuple[str, AttributePath]]:
        """The attributes of resources that the calls read: resource name, attribute with its path."""
        return frozenset(attribute for call in self.calls for attribute in call.required_attributes())

    def place_of(self, name: str, attribute: AttributePath) -> Path:
        """Return the path of the first call that reads this attribute of the resource ``name``."""
        return self._readers[name, attribute]

    @cached_property
    def _readers(self) -> dict[tuple[str, AttributePath], Path]:
        calls = reversed(self.calls)
        return {attribute: call.path for call in calls for attribute in call.required_attributes()}


@dataclass(frozen=True, kw_only=True)
class ResourceDefinition(Definition):
    """One entry of the section ``resources``."""

    name: str
    type: str
    version: TemplateVersion
    positions: Positions = field(repr=False, compare=False)
    depends_on: tuple[str, ...] = ()
    #: The requirements that the resource's type adds to those of the template.
    implied: frozenset[str] = frozenset()
    #: As written, with calls as one-key maps and with macros expanded; must not be changed.
    properties: Any = field(default_factory=dict)
    #: As :attr:`properties`.
    metadata: Any = field(default_factory=dict)
    #: ``Delete``, ``Retain`` or ``Snapshot``.
    deletion_policy: str = DELETE
    #: How updates are carried out, by the type's schema.
    update_policy: Mapping[str, Any] = field(default_factory=dict)
    #: The physical id of an existing object, which is never changed; None if the resource is to be created.
    external_id: str | None = None
    description: str = ""
    properties_expression: Expression = field(repr=False, compare=False)
    metadata_expression: Expression = field(repr=False, compare=False)
    #: The keys of all files of the job: a get_file whose key is a call may read any of them.
    all_files: Iterable[str] = field(default=(), repr=False, compare=False)

    @property
    def dialect(self) -> Dialect:
        """The names of sections and keys in the template's format."""
        return dialect_of(self.version)

    @cached_property
    def path(self) -> Path:
        """The resource's path in the template."""
        return (dialect_of(self.version).resources, self.name)

    @property
    def calls(self) -> tuple[Function, ...]:
        """The calls in the properties and the metadata."""
        return (*self.properties_expression.calls, *self.metadata_expression.calls)

    @property
    def position(self) -> Position:
        """The position of the resource's name in the template's text."""
        return self.positions.at(self.path)

    @cached_property
    def requirements(self) -> frozenset[str]:
        """The resources that must be complete before this one: by depends_on, by calls, and by its type."""
        return self.implied.union(self.depends_on, *(call.dependencies() for call in self.calls))

    @cached_property
    def required_files(self) -> frozenset[str]:
        """The keys of the files that the calls read; all files if a key is itself a call."""
        keys: set[str] = set()
        for call in self.calls:
            files = call.required_files()
            if files is None:
                # Often many keys for many resources: they share one set.
                return frozenset(self.all_files)
            keys.update(files)
        return frozenset(keys)

    def resolve_properties(self, stack: StackDefinition) -> dict[str, Any]:
        """Return the properties with all calls evaluated; values that are not known yet are ``UNKNOWN``.

        Raises:
            ResolveError: a call failed, or the properties as a whole are a call that returns no map.
        """
        return self._resolve(self.properties_expression, self.dialect.properties, stack)

    def redacted(
        self, fault: PropertyError, hidden: Collection[str], schema: Mapping[str, Property] = NO_SCHEMA
    ) -> PropertyError:
        """Return an error of these properties without values that may be secrets.

        A value is kept if the template itself contains it or computes it from parameters that are not ``hidden``, and
        the type's ``schema`` does not declare it as sensitive.
        """
        shown = self.properties_expression.covered(fault.path, hidden)
        if shown is None and is_sensitive(schema, fault.path):
            shown = fault.path
        return fault if shown is None else fault.veil(shown)

    def resolve_metadata(self, stack: StackDefinition) -> dict[str, object]:
        """Return the metadata with all calls evaluated; values that are not known yet are ``UNKNOWN``.

        Raises:
            ResolveError: a call failed, or the metadata as a whole is a call that returns no map.
        """
        return self._resolve(self.metadata_expression, self.dialect.metadata, stack)

    def _resolve(self, expression: Expression, section: str, stack: StackDefinition) -> dict[str, object]:
        value = expression.resolve(stack)
        if value is None:
            return {}
        if not isinstance(value, dict):
            message = f"the {section} as a whole must be a map when they are resolved"
            hint = "give each entry its own call"
            raise ResolveError(self.positions.problem((*self.path, section), message, hint))
        return value

    def fragment(self) -> dict[str, Any]:
        """Return plain types from which :meth:`from_fragment` rebuilds the definition; empty parts are left out.

        The keys of ``PLACE_KEYS`` have the positions of the resource and of each property.
        """
        parts = {
            "p": self.properties,
            "m": self.metadata,
            "d": list(self.depends_on),
            "i": sorted(self.implied),
            "x": "" if self.deletion_policy == DELETE else self.deletion_policy,
            "u": self.update_policy,
            "e": self.external_id,
            "n": self.description,
            "c": sorted({call.name for call in self.calls}),
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
        """Rebuild a definition from a fragment that :meth:`fragment` returned.

        Raises:
            PluginMistake: the fragment was made by another version of this software.
            ResolveError: it calls a function that is not installed in this process.
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
            implied=frozenset(fragment.get("i", ())),
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
    """Return the deletion policy of a definition's fragment, without rebuilding the definition."""
    policy: str = fragment.get("x", DELETE)
    return policy


def _refuse_unknown(functions: Iterable[str], name: str, position: Position) -> None:
    """Refuse a fragment that calls a function that is not installed: the call would be read as data."""
    for function in functions:
        if function not in all_functions():
            message = (
                f"resource {name!r} calls the function {function}, which is not installed where the check ran"
            )
            raise ResolveError(Problem(message=message, position=position))


class FragmentPositions(PackedPositions):
    """The positions in a fragment, unpacked when first needed."""

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
class OutputDefinition(Definition):
    """One entry of the section ``outputs``; one whose condition does not hold has the value null."""

    name: str
    #: The output's path in the template.
    path: Path
    description: str = ""
    expression: Expression = field(repr=False, compare=False)

    @property
    def calls(self) -> tuple[Function, ...]:
        """The calls in the value."""
        return self.expression.calls

    @cached_property
    def requirements(self) -> frozenset[str]:
        """The resources that the value refers to."""
        return frozenset(self.expression.requirements())

    def resolve(self, stack: StackDefinition) -> object:
        """Return the value; parts that are not known yet are ``UNKNOWN``.

        Raises:
            ResolveError: a call failed.
        """
        return self.expression.resolve(stack)
