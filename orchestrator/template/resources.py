"""Read the section ``resources``."""

from collections.abc import Mapping
from typing import Any

from orchestrator.template.definitions import DELETE, SNAPSHOT, ResourceDefinition
from orchestrator.template.document import Path
from orchestrator.template.expressions import ExpressionParser
from orchestrator.template.functions.base import kind_of
from orchestrator.template.sections import SectionReader
from orchestrator.template.versions import NEWTON, V2013_05_23

_KEYS = ("type", "properties", "metadata", "depends_on", "deletion_policy", "description")
_LATER_KEYS = {"update_policy": V2013_05_23, "external_id": NEWTON, "condition": NEWTON}
_POLICIES = (DELETE, "Retain", SNAPSHOT)
_LONGEST_NAME = 255


class ResourceReader:
    """Makes definitions of what a template says; one with a mistake gives problems as well."""

    def __init__(
        self, reader: SectionReader, expressions: ExpressionParser, all_files: frozenset[str]
    ) -> None:
        self._reader, self._expressions, self._all_files = reader, expressions, all_files

    def resources(
        self, raw: Any, parameters: Mapping[str, Any], max_resources: int
    ) -> dict[str, ResourceDefinition]:
        """Return the definitions in the template's order; ``parameters`` are names they may not have."""
        section = self._reader.as_map(raw, ("resources",), "resources by name")
        if len(section) > max_resources:
            message = f"there are {len(section)} resources; at most {max_resources} are allowed"
            hint = "make several stacks of it, or raise the setting max_resources_per_stack"
            self._reader.fault(("resources",), message, hint)
            return {}
        definitions = {}
        for name, resource in section.items():
            self._check_name(name, parameters)
            definition = self._definition(name, resource, ("resources", name))
            if definition:
                definitions[name] = definition
        return definitions

    def _check_name(self, name: str, parameters: Mapping[str, Any]) -> None:
        path = ("resources", name)
        if not 0 < len(name) <= _LONGEST_NAME:
            self._reader.fault(
                path, f"a resource's name has 1 to {_LONGEST_NAME} characters, this one {len(name)}"
            )
        if "/" in name or not name.isprintable():
            self._reader.fault(path, "a resource's name may not contain '/' or control characters")
        if name in parameters:
            self._reader.fault(path, f"{name!r} is the name of a parameter already")

    def _definition(self, name: str, raw: Any, path: Path) -> ResourceDefinition | None:
        reader = self._reader
        if not isinstance(raw, dict):
            reader.fault(path, f"expected a resource, a map with a type, found {kind_of(raw)}")
            return None
        reader.check_keys(raw, path, known=_KEYS, later=_LATER_KEYS)
        properties, metadata = self._map(raw, path, "properties"), self._map(raw, path, "metadata")
        return ResourceDefinition(
            name=name,
            type=self._type(raw, path),
            version=reader.version,
            positions=reader.positions,
            depends_on=self._depends_on(raw, (*path, "depends_on")),
            properties=properties,
            metadata=metadata,
            deletion_policy=self._policy(raw.get("deletion_policy"), (*path, "deletion_policy")),
            description=reader.as_text(raw.get("description"), (*path, "description")),
            properties_expression=self._expressions.parse(properties, (*path, "properties")),
            metadata_expression=self._expressions.parse(metadata, (*path, "metadata")),
            all_files=self._all_files,
        )

    def _map(self, raw: dict[str, Any], path: Path, key: str) -> dict[str, Any]:
        return self._reader.as_map(raw.get(key), (*path, key), f"the {key}")

    def _type(self, raw: dict[str, Any], path: Path) -> str:
        kind = raw.get("type")
        if isinstance(kind, str) and kind:
            return kind
        if kind is None:
            self._reader.fault(path, "this resource has no type")
        else:
            found = "an empty text" if kind == "" else kind_of(kind)
            self._reader.fault((*path, "type"), f"expected the name of a resource type, found {found}")
        return ""

    def _depends_on(self, raw: dict[str, Any], path: Path) -> tuple[str, ...]:
        given = raw.get("depends_on")
        if given is None:
            return ()
        names = given if isinstance(given, list) else [given]
        wrong = [name for name in names if not isinstance(name, str)]
        if wrong:
            hint = "calls are not evaluated here" if isinstance(wrong[0], dict) else ""
            message = f"expected a resource's name or a list of them, found {kind_of(wrong[0])}"
            self._reader.fault(path, message, hint)
            return ()
        return tuple(dict.fromkeys(names))

    def _policy(self, raw: Any, path: Path) -> str:
        if raw is None:
            return DELETE
        written = raw if isinstance(raw, str) else ""
        if self._reader.version >= NEWTON:
            written = written.capitalize() if written.islower() else written
        if written in _POLICIES:
            return written
        found = repr(raw) if isinstance(raw, str) else kind_of(raw)
        hint = "calls are not supported here yet" if isinstance(raw, dict) else ""
        self._reader.fault(path, f"expected one of {', '.join(_POLICIES)}, found {found}", hint)
        return DELETE
