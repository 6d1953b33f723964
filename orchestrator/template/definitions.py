"""What a template says about one resource and one output, ready to be evaluated.

A resource's definition can be taken apart to a *fragment*, plain types that are stored once per resource, from
which a worker rebuilds it without the template.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from orchestrator.definition import AttributePath, StackDefinition
from orchestrator.errors import PluginMistake, Position, Problem
from orchestrator.plugins.properties import PropertyError
from orchestrator.template.document import PackedPositions, Path, Positions
from orchestrator.template.expressions import Expression, ExpressionParser
from orchestrator.template.functions.base import ResolveError
from orchestrator.template.reading import Where
from orchestrator.template.versions import HotVersion, find_version

__all__ = ["OutputDefinition", "ResolveError", "ResourceDefinition"]

#: The keys of a fragment that say only where things stood in the text: they change when a line is put in above.
PLACE_KEYS: Final = frozenset({"f", "w"})

DELETE: Final = "Delete"
SNAPSHOT: Final = "Snapshot"


@dataclass(frozen=True, kw_only=True)
class ResourceDefinition:
    """One entry of the section ``resources``."""

    name: str
    type: str
    version: HotVersion
    positions: Positions = field(repr=False, compare=False)
    depends_on: tuple[str, ...] = ()
    #: As written, with calls as one-key maps; not to be changed.
    properties: Any = field(default_factory=dict)
    #: As written, with calls as one-key maps; not to be changed.
    metadata: Any = field(default_factory=dict)
    #: ``Delete``, ``Retain`` or ``Snapshot``.
    deletion_policy: str = DELETE
    description: str = ""
    properties_expression: Expression = field(repr=False, compare=False)
    metadata_expression: Expression = field(repr=False, compare=False)
    #: The files that came with the template: what a get_file whose key is a call may read.
    all_files: Iterable[str] = field(default=(), repr=False, compare=False)

    @property
    def path(self) -> Path:
        """Where the resource stands in the template."""
        return ("resources", self.name)

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
            keys.update(self.all_files if files is None else files)
        return frozenset(keys)

    def resolve_properties(self, stack: StackDefinition) -> dict[str, Any]:
        """Return the properties with all calls evaluated; ``UNKNOWN`` stands where a value is not known yet.

        Raises:
            ResolveError: a call failed, or the properties as a whole come from a call that gives no map.
        """
        return self._resolve(self.properties_expression, "properties", stack)

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
        return self._resolve(self.metadata_expression, "metadata", stack)

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
            "n": self.description,
            "c": bool(self.properties_expression.calls or self.metadata_expression.calls),
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
        return [own, *(self.positions.where((*self.path, "properties", name)) for name in self.properties)]

    @classmethod
    def from_fragment(cls, name: str, fragment: Mapping[str, Any]) -> "ResourceDefinition":
        """Rebuild a definition from what :meth:`fragment` gave.

        Raises:
            PluginMistake: the fragment was made by another version of this software.
            ResolveError: it calls a function that is installed where it was made, but not here.
        """
        version = find_version(fragment.get("v", ""))
        if version is None or "t" not in fragment:
            raise PluginMistake(f"resource {name!r}: a fragment of an unknown shape")
        properties, metadata = fragment.get("p", {}), fragment.get("m", {})
        positions = FragmentPositions(name, fragment)
        properties_expression, metadata_expression = Expression(properties), Expression(metadata)
        if fragment.get("c"):
            problems: list[Problem] = []
            parser = ExpressionParser(version, positions, problems)
            properties_expression = parser.parse(properties, ("resources", name, "properties"))
            metadata_expression = parser.parse(metadata, ("resources", name, "metadata"))
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
            deletion_policy=fragment.get("x", DELETE),
            description=fragment.get("n", ""),
            properties_expression=properties_expression,
            metadata_expression=metadata_expression,
        )


class FragmentPositions(PackedPositions):
    """The positions a fragment holds, unpacked only when somebody asks."""

    def __init__(self, name: str, fragment: Mapping[str, Any]) -> None:
        super().__init__(fragment.get("f", ""), {})
        self._name, self._fragment = name, fragment

    def where(self, path: Path) -> Where:
        """Return the packed position of ``path``, or of its nearest ancestor."""
        if not self._known:
            own, *places = self._fragment.get("w") or [0]
            base = ("resources", self._name)
            properties = [(*base, "properties", name) for name in self._fragment.get("p", ())]
            self._known = {base: own, **dict(zip(properties, places, strict=False))}
        return super().where(path)


@dataclass(frozen=True, kw_only=True)
class OutputDefinition:
    """One entry of the section ``outputs``."""

    name: str
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

    def resolve(self, stack: StackDefinition) -> Any:
        """Return the value; ``UNKNOWN`` stands where it is not known yet.

        Raises:
            ResolveError: a call failed.
        """
        return self.expression.resolve(stack)
