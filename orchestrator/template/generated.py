"""Generated templates: the text and parameters of the nested stack that a resource type defines."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.definition import is_unknown
from orchestrator.plugins.stack_resource import Child
from orchestrator.template.functions.registry import all_functions

#: The sections of a resource that hold values.
_SECTIONS = ("properties", "metadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedTemplate:
    """The text of a generated template, and the values of its parameters."""

    source: str
    parameters: Mapping[str, Any]
    #: The parameters whose values are secrets.
    secrets: frozenset[str]


def generated_template(child: Child, *, is_secret: bool) -> GeneratedTemplate:
    """Return a child's template as text.

    In a template of plain values, values that the text cannot contain become parameters: those that are not known yet,
    those that would be read as a call, and, if ``is_secret``, all values.
    """
    if isinstance(child.template, str):
        secrets = frozenset(child.parameters) if is_secret else frozenset()
        return GeneratedTemplate(source=child.template, parameters=child.parameters, secrets=secrets)
    writer = _Writer(is_secret=is_secret)
    template = {**child.template, "resources": dict(writer.resources(child.template.get("resources", {})))}
    if writer.declared:
        template["parameters"] = {**template.get("parameters", {}), **writer.declared}
    return GeneratedTemplate(
        source=json.dumps(template, indent=1, ensure_ascii=False),
        parameters={**child.parameters, **writer.values},
        secrets=frozenset(writer.values) if is_secret else frozenset(),
    )


class _Writer:
    def __init__(self, *, is_secret: bool) -> None:
        self.declared: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        self._is_secret = is_secret

    def resources(self, resources: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
        for name, definition in resources.items():
            converted = {
                section: self._section(definition[section], (name, section))
                for section in _SECTIONS
                if section in definition
            }
            yield name, {**definition, **converted}

    def _section(self, section: object, place: tuple[str, ...]) -> object:
        if not isinstance(section, Mapping):
            return section
        if _is_like_a_call(section):
            return self._parameter(section, place)
        return {
            name: self._value(value, (*place, name), whole=self._is_secret) for name, value in section.items()
        }

    def _value(self, value: object, place: tuple[str, ...], *, whole: bool) -> object:
        if value is None:
            return None
        if whole or not isinstance(value, (Mapping, list, tuple)):
            return self._parameter(value, place) if whole or is_unknown(value) else value
        if isinstance(value, Mapping):
            if _is_like_a_call(value):
                return self._parameter(value, place)
            return {key: self._value(item, (*place, str(key)), whole=False) for key, item in value.items()}
        return [self._value(item, (*place, str(index)), whole=False) for index, item in enumerate(value)]

    def _parameter(self, value: object, place: tuple[str, ...]) -> dict[str, str]:
        # Named by its path, so that a change elsewhere does not rename the parameter, which would look like an update.
        name = ".".join(place)
        while name in self.values:
            name += "_"
        self.declared[name] = {"type": _type_of(value), "hidden": self._is_secret}
        self.values[name] = value
        return {"get_param": name}


def _is_like_a_call(value: Mapping[str, object]) -> bool:
    return len(value) == 1 and next(iter(value)) in all_functions()


def _type_of(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "json" if isinstance(value, (Mapping, list, tuple)) else "string"
