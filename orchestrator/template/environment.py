"""What is said about a template from outside: values for its parameters, other names for its resource types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from orchestrator.errors import InvalidInput, Position, Problem
from orchestrator.template.document import Document, Limits, Path, dotted, read_document
from orchestrator.template.nearest import Nearest

_SECTIONS = ("parameters", "parameter_defaults", "resource_registry")
_LATER_SECTIONS = ("event_sinks", "encrypted_param_names", "parameter_merge_strategies")
_LATER_REGISTRY = ("resources", "base_url")


@dataclass(frozen=True, slots=True)
class Given:
    """A value somebody gave, and where; without a position it came with the order itself."""

    value: Any
    path: str = ""
    position: Position | None = None

    def problem(self, message: str, hint: str = "") -> Problem:
        """Return a problem with this value."""
        return Problem(message=message, path=self.path, position=self.position, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Values and aliases, gathered from any number of environment files; immutable."""

    parameters: Mapping[str, Given] = field(default_factory=dict)
    #: Used where ``parameters`` has nothing; names that no template declares are no mistake.
    parameter_defaults: Mapping[str, Given] = field(default_factory=dict)
    #: What a resource type stands for: type -> type.
    resource_registry: Mapping[str, str] = field(default_factory=dict)
    #: Types whose alias a file takes away again.
    removed_aliases: frozenset[str] = frozenset()

    @classmethod
    def of_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """Return an environment of values that came with the order itself."""
        given = {name: Given(value, dotted(("parameters", name))) for name, value in parameters.items()}
        return cls(parameters=given)

    @classmethod
    def parse(cls, source: str, *, file: str, limits: Limits) -> "Environment":
        """Read an environment file; an empty one, or an empty section, says nothing.

        Raises:
            InvalidInput: with every problem found.
        """
        document, problems = read_document(source, file=file, limits=limits)
        environment = _Reading(document, problems).run()
        if problems:
            raise InvalidInput(problems)
        return environment

    def merge(self, *others: "Environment") -> "Environment":
        """Return an environment with everything; of what comes twice, the last counts. An alias of null goes."""
        merged = self
        for other in others:
            aliases = {**merged.resource_registry, **other.resource_registry}
            for name in other.removed_aliases:
                aliases.pop(name, None)
            removed = (merged.removed_aliases - other.resource_registry.keys()) | other.removed_aliases
            merged = Environment(
                parameters={**merged.parameters, **other.parameters},
                parameter_defaults={**merged.parameter_defaults, **other.parameter_defaults},
                resource_registry=aliases,
                removed_aliases=removed,
            )
        return merged

    def actual_type(self, name: str) -> str:
        """Return the type that ``name`` stands for, aliases of aliases followed."""
        seen = {name}
        while (alias := self.resource_registry.get(name, name)) not in seen:
            seen.add(alias)
            name = alias
        return name


class _Reading:
    """Checks one environment document, and gathers what is wrong with it."""

    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self._document, self._problems = document, problems
        self._nearest = Nearest()

    def run(self) -> Environment:
        data = {} if self._document.data is None else self._document.data
        if not isinstance(data, dict):
            self._fault((), "expected an environment, a map", f"sections: {', '.join(_SECTIONS)}")
            return Environment()
        for key in data:
            self._check_section(key)
        aliases, removed = self._registry(self._section(data, "resource_registry"))
        return Environment(
            parameters=self._given(data, "parameters"),
            parameter_defaults=self._given(data, "parameter_defaults"),
            resource_registry=aliases,
            removed_aliases=removed,
        )

    def _check_section(self, key: str) -> None:
        if key in _LATER_SECTIONS:
            self._fault((key,), "this section of environments is not supported yet")
        elif key not in _SECTIONS:
            hint = self._nearest.hint(key, _SECTIONS, f"sections: {', '.join(_SECTIONS)}")
            self._fault((key,), f"there is no section {key!r} in an environment", hint)

    def _section(self, data: dict[str, Any], name: str) -> dict[str, Any]:
        section = data.get(name)
        if section is None:
            return {}
        if isinstance(section, dict):
            return section
        self._fault((name,), "expected a map")
        return {}

    def _given(self, data: dict[str, Any], section: str) -> dict[str, Given]:
        positions = self._document.positions
        return {
            name: Given(value, dotted((section, name)), positions.at((section, name)))
            for name, value in self._section(data, section).items()
        }

    def _registry(self, registry: dict[str, Any]) -> tuple[dict[str, str], frozenset[str]]:
        aliases: dict[str, str] = {}
        removed: set[str] = set()
        for name, target in registry.items():
            path = ("resource_registry", name)
            if name in _LATER_REGISTRY:
                self._fault(path, f"{name!r} in a resource_registry is not supported yet")
            elif "*" in name:
                self._fault(path, "wildcards in a resource_registry are not supported yet", "name each type")
            elif target is None:
                removed.add(name)
            elif self._is_type(path, target):
                aliases[name] = target
        return aliases, frozenset(removed)

    def _is_type(self, path: Path, target: Any) -> bool:
        if not isinstance(target, str) or not target:
            self._fault(path, "expected the name of a resource type")
            return False
        if target.endswith((".yaml", ".template")):
            self._fault(path, "template files as resource types are not supported yet")
            return False
        return True

    def _fault(self, path: Path, message: str, hint: str = "") -> None:
        self._problems.append(self._document.positions.problem(path, message, hint))
