"""Descriptions of a hook's options: their types, defaults and present settings, without possible secrets."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python

from hooks.values.masking import MASK

#: The steps in an option's path for any name in a table, and for any item of a list.
ANY_NAME: Final = "NAME"
ANY_ITEM: Final = "*"
#: The depth of nested tables that is shown: a table may contain itself.
_DEEPEST: Final = 5
#: Names of options that suggest a secret, though their types do not.
_SECRETIVE: Final = re.compile(r"(?i)secret|passw|token|credential|authori|cookie|key")
_USER_IN_URL: Final = re.compile(r"(?<=://)[^/@\s]*@")
_QUERY_OF_URL: Final = re.compile(r"(?<=\?)\S+")
_SECRET: Final = "secret"  # noqa: S105  # a type
_FORMATS: Final = {"password": _SECRET, "path": "path"}
_WORDS: Final = {"array": "list", "object": "table", "null": "nothing", "string": "text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionView:
    """One option, by its dotted path; the options in a table are listed, too."""

    name: str
    type: str
    required: bool
    default: Any
    description: str
    #: The value in the settings; None if it is not set.
    said: Any = None


def options_of(model: type[BaseModel], values: Mapping[str, object]) -> list[OptionView]:
    """Return the options of a model, each table before its own options."""
    try:
        schema = model.model_json_schema()
    except PydanticUserError:
        # A type of the package that JSON schemas cannot express.
        return [
            OptionView(
                name=name,
                type=getattr(field.annotation, "__name__", str(field.annotation)),
                required=field.is_required(),
                default=None,
                description=field.description or "",
                said=MASK if name in values else None,
            )
            for name, field in model.model_fields.items()
        ]
    return list(_Options(schema.get("$defs", {})).within(schema, (), values, 0))


class _Options:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def within(
        self, schema: Mapping[str, Any], path: tuple[str, ...], values: object, depth: int
    ) -> Iterator[OptionView]:
        """Yield the options of a table."""
        required = schema.get("required", ())
        for name, prop in schema.get("properties", {}).items():
            given = values.get(name) if isinstance(values, Mapping) else None
            resolved = self._resolved(prop)
            kind = self._type(resolved)
            is_secret = kind.startswith(_SECRET) or ("text" in kind and bool(_SECRETIVE.search(name)))
            default = prop.get("default")
            yield OptionView(
                name=".".join((*path, name)),
                type=kind,
                required=name in required,
                default=MASK if is_secret and default else default,
                description=" ".join(str(prop.get("description", "")).split()),
                said=None if given is None else _shown(given, secret=is_secret),
            )
            if depth < _DEEPEST:
                yield from self._inside(resolved, (*path, name), given, depth + 1)

    def _inside(
        self, schema: Mapping[str, Any], path: tuple[str, ...], values: object, depth: int
    ) -> Iterator[OptionView]:
        if schema.get("properties"):
            yield from self.within(schema, path, values, depth)
        for key, step in (("additionalProperties", ANY_NAME), ("items", ANY_ITEM)):
            if isinstance(schema.get(key), Mapping):
                inner = self._resolved(schema[key])
                # The values are shown with the whole table or list.
                yield from self._inside(inner, (*path, step), None, depth)

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a schema with its reference resolved, and without an alternative null."""
        if "$ref" in schema:
            return self._resolved(self._definitions[schema["$ref"].rpartition("/")[2]])
        others = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
        return self._resolved(others[0]) if len(others) == 1 else schema

    def _type(self, schema: Mapping[str, Any]) -> str:
        schema = self._resolved(schema)
        if "enum" in schema or "const" in schema:
            return f"one of {', '.join(map(str, schema.get('enum', [schema.get('const')])))}"
        if "anyOf" in schema:
            return " or ".join(dict.fromkeys(self._type(each) for each in schema["anyOf"]))
        for key, whole in (("items", "list"), ("additionalProperties", "table")):
            if isinstance(schema.get(key), Mapping):
                inner = self._type(schema[key])
                return f"{inner} {whole}" if inner == _SECRET else f"{whole} of {inner}"
        kind = str(schema.get("type", "anything"))
        return _FORMATS.get(schema.get("format", ""), _WORDS.get(kind, kind))


def _shown(value: object, *, secret: bool) -> object:
    """Return a value in the settings without possible secrets: of tables, the names and the numbers."""
    if isinstance(value, Mapping):
        return {str(name): _shown(each, secret=True) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(each, secret=secret) for each in value]
    if isinstance(value, str):
        return MASK if secret else _QUERY_OF_URL.sub(MASK, _USER_IN_URL.sub(f"{MASK}@", value))
    return to_jsonable_python(value, fallback=lambda _: MASK)
