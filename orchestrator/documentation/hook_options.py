"""The options of a hook in words: what each may be, and what the settings say of it, without what may be a secret."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from pydantic import BaseModel
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python

from hooks.values.masking import MASK

#: Stands, in the path of an option, for any name in a table, and for any item of a list.
ANY_NAME: Final = "NAME"
ANY_ITEM: Final = "*"
#: Tables in tables are shown down to here: they may be in themselves.
_DEEPEST: Final = 5
#: Names of options that tell of a secret, though their types do not.
_SECRETIVE: Final = re.compile(r"(?i)secret|passw|token|credential|authori|cookie|key")
_USER_IN_URL: Final = re.compile(r"(?<=://)[^/@\s]*@")
_QUERY_OF_URL: Final = re.compile(r"(?<=\?)\S+")
_SECRET: Final = "secret"  # noqa: S105  # a type
_FORMATS: Final = {"password": _SECRET, "path": "path"}
_WORDS: Final = {"array": "list", "object": "table", "null": "nothing", "string": "text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionView:
    """One option, of a table also what is in it, by dotted paths."""

    name: str
    type: str
    required: bool
    default: Any
    description: str
    #: What the settings say; None if nothing.
    said: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return asdict(self)


def options_of(model: type[BaseModel], said: Mapping[str, Any]) -> list[OptionView]:
    """Return the options of a model, each table before what is in it.

    Args:
        model: Says what the options may be.
        said: What the settings say.
    """
    try:
        schema = model.model_json_schema()
    except PydanticUserError:
        # A type of the package's own that JSON cannot say.
        return [
            OptionView(
                name=name,
                type=getattr(field.annotation, "__name__", str(field.annotation)),
                required=field.is_required(),
                default=None,
                description=field.description or "",
                said=MASK if name in said else None,
            )
            for name, field in model.model_fields.items()
        ]
    return list(_Options(schema.get("$defs", {})).within(schema, (), said, 0))


class _Options:
    """Reads a JSON schema whose references are ``definitions``."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def within(
        self, schema: Mapping[str, Any], path: tuple[str, ...], said: Any, depth: int
    ) -> Iterator[OptionView]:
        """Yield the options of a table."""
        required = schema.get("required", ())
        for name, prop in schema.get("properties", {}).items():
            given = said.get(name) if isinstance(said, Mapping) else None
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
        self, schema: Mapping[str, Any], path: tuple[str, ...], said: Any, depth: int
    ) -> Iterator[OptionView]:
        if schema.get("properties"):
            yield from self.within(schema, path, said, depth)
        for key, step in (("additionalProperties", ANY_NAME), ("items", ANY_ITEM)):
            if isinstance(schema.get(key), Mapping):
                inner = self._resolved(schema[key])
                # What is said there, the row of the whole shows.
                yield from self._inside(inner, (*path, step), None, depth)

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a schema without the reference that it is, or the null that it may be besides."""
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


def _shown(value: Any, *, secret: bool) -> Any:
    """Return what the settings say as people may see it: of tables, the names and the numbers."""
    if isinstance(value, Mapping):
        return {str(name): _shown(each, secret=True) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(each, secret=secret) for each in value]
    if isinstance(value, str):
        return MASK if secret else _QUERY_OF_URL.sub(MASK, _USER_IN_URL.sub(f"{MASK}@", value))
    return to_jsonable_python(value, fallback=lambda _: MASK)
