"""What templates can use: resource types with their schemas, versions of the language, and its functions."""

import re
from collections.abc import Mapping
from typing import Any, Final

import falcon

from orchestrator.api.described import described
from orchestrator.api.faults import bad_request
from orchestrator.api.reading import Query
from orchestrator.api.schemas import MAP, MAYBE_TEXT, SAID_FLAG, TEXT, fields, many, named, words, wrapped
from orchestrator.api.shapes import PARAMETER_TYPES
from orchestrator.api.stacks import Face
from orchestrator.documentation.schema import describe_attributes, describe_properties
from orchestrator.documentation.wrapping import resource_name, wrapping_template
from orchestrator.errors import InvalidInput, NotFound
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import SupportStatus
from orchestrator.template.functions.description import describe_functions, describe_versions, version_named
from orchestrator.template.versions import HOT

#: The format of templates of types that is not HOT.
_CFN_VERSION: Final = {"HeatTemplateFormatVersion": "2012-12-12"}
#: The formats of templates of types, and whether each is HOT.
_FORMATS: Final = {"cfn": False, "hot": True}
_QUERY: Final = {
    "name": TEXT,
    "support_status": TEXT,
    # Every type has but one.
    "version": TEXT,
    "with_description": SAID_FLAG,
}
_LISTED: Final = wrapped(
    "resource_types",
    many({"anyOf": [TEXT, fields({"resource_type": TEXT, "description": MAYBE_TEXT})]}),
)
_VERSIONS: Final = wrapped(
    "template_versions",
    many(fields({"version": TEXT, "type": words("hot", "cfn"), "aliases": many(TEXT)})),
)
_FUNCTIONS: Final = wrapped("template_functions", many(fields({"functions": TEXT, "description": TEXT})))
#: Longer patterns are none of a name.
_LONGEST_PATTERN: Final = 200


class Types(Face):
    """The installed resource types."""

    @described("stacks:list_resource_types", _LISTED, query=_QUERY)
    def on_get(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """List them."""
        self._door.require(request, "stack.preview")
        query = Query(request)
        wanted, status = _pattern(query.one("name")), query.one("support_status").upper()
        described = query.flag("with_description")
        found = [
            (name, kind)
            for name, kind in sorted(ResourceTypes.load().items())
            if not kind.support_status.is_hidden
            and (not status or str(kind.support_status.status).upper() == status)
            and (wanted is None or wanted.match(name))
        ]
        response.media = {
            "resource_types": [
                {"resource_type": name, "description": kind.description or None} if described else name
                for name, kind in found
            ]
        }


def _pattern(text: str) -> re.Pattern[str] | None:
    """Return the pattern of a name, of which only ``.*`` and ``.`` are more than they look like.

    Whatever else a regular expression can do could keep this process busy for ever.
    """
    if not text:
        return None
    if len(text) > _LONGEST_PATTERN:
        raise bad_request(f"expected a pattern of at most {_LONGEST_PATTERN} characters as name")
    parts = re.split(r"(\.\*|\.)", re.sub(r"(\.\*)+", ".*", text.removeprefix("^")))
    if sum(part == ".*" for part in parts) > _MOST_STARS:
        raise bad_request(f"expected a pattern with at most {_MOST_STARS} of '.*' as name")
    end = "$" if text.endswith("$") else ""
    parts[-1] = parts[-1].removesuffix("$")
    return re.compile("".join(part if part in (".*", ".") else re.escape(part) for part in parts) + end)


#: Each makes a search slower by the length of a name.
_MOST_STARS: Final = 3


class Type(Face):
    """The schema of a resource type."""

    has_etag = True

    @described("stacks:resource_schema", named("Type"), query={"with_description": SAID_FLAG})
    def on_get(self, request: falcon.Request, response: falcon.Response, type_name: str, **_: str) -> None:
        """Show it."""
        self._door.require(request, "stack.preview")
        kind = ResourceTypes.load().find(type_name)
        described = {"description": kind.description} if Query(request).flag("with_description") else {}
        response.media = {
            "resource_type": type_name,
            "properties": {
                name: _property(each) for name, each in _maps(describe_properties(kind.properties_schema))
            },
            "attributes": {
                name: _attribute(each) for name, each in _maps(describe_attributes(kind.attributes_schema))
            },
            "support_status": _support(kind.support_status),
            **described,
        }


def _maps(described: Mapping[str, object]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, each) for name, each in described.items() if isinstance(each, Mapping)]


def _property(described: Mapping[str, Any]) -> dict[str, Any]:
    inside = {name: _property(each) for name, each in _maps(described["schema"])}
    default = {} if described["default"] is None else {"default": described["default"]}
    return {
        "type": described["type"],
        "required": described["required"],
        "update_allowed": described["update_allowed"],
        "immutable": described["immutable"],
        "description": described["description"],
        "constraints": [
            {name: each[name] for name in each if name != "description"}
            or {"description": each["description"]}
            for each in described["constraints"]
        ],
        **default,
        **({"schema": inside} if inside else {}),
    }


def _attribute(described: Mapping[str, Any]) -> dict[str, Any]:
    kind = {"type": described["type"]} if described["type"] else {}
    return {"description": described["description"], **kind}


def _support(status: SupportStatus) -> dict[str, Any]:
    return {
        "status": str(status.status).upper(),
        "message": status.message or None,
        "version": status.version or None,
        "previous_status": None if status.previous is None else _support(status.previous),
    }


class TypeTemplate(Face):
    """A template with one resource of a type."""

    has_etag = True

    @described("stacks:generate_template", MAP, query={"template_type": words(*_FORMATS)})
    def on_get(self, request: falcon.Request, response: falcon.Response, type_name: str, **_: str) -> None:
        """Show it, in CFN unless ``template_type`` is hot."""
        self._door.require(request, "stack.preview")
        is_hot = Query(request).choice("template_type", _FORMATS, "cfn")
        kind = ResourceTypes.load().find(type_name)
        template = wrapping_template(type_name, kind)
        response.media = template if is_hot else as_cfn(type_name, kind, template)


def as_cfn(name: str, kind: type[Resource], hot: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template of a type in CFN, from that in HOT; every property has its parameter's value."""
    parameters: Mapping[str, Mapping[str, Any]] = hot.get("parameters", {})
    resource = "".join(part.title() for part in resource_name(name).split("_"))
    outputs = [each for each in hot.get("outputs", {}) if each in kind.attributes_schema]
    return {
        **_CFN_VERSION,
        "Description": hot.get("description", ""),
        "Parameters": {
            each: {
                "Type": PARAMETER_TYPES[str(declared["type"])],
                **({"Default": declared["default"]} if "default" in declared else {}),
                **({"Description": declared["description"]} if "description" in declared else {}),
            }
            for each, declared in parameters.items()
        },
        "Resources": {resource: {"Type": name, "Properties": {each: {"Ref": each} for each in parameters}}},
        "Outputs": {
            each: {
                "Description": hot["outputs"][each].get("description", ""),
                "Value": {"Fn::GetAtt": [resource, each]},
            }
            for each in outputs
        },
    }


class TemplateVersions(Face):
    """The versions of the language."""

    @described("stacks:list_template_versions", _VERSIONS)
    def on_get(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """List them."""
        self._door.require(request, "stack.preview")
        response.media = {
            "template_versions": [
                {
                    "version": f"{each.version.key}.{each.version.date}",
                    "type": "hot" if each.version.key == HOT else "cfn",
                    "aliases": [f"{each.version.key}.{each.version.alias}"] if each.version.alias else [],
                }
                for each in describe_versions()
            ]
        }


class TemplateFunctions(Face):
    """The functions of a version of the language."""

    @described("stacks:list_template_functions", _FUNCTIONS, query={"with_condition_func": SAID_FLAG})
    def on_get(self, request: falcon.Request, response: falcon.Response, version: str, **_: str) -> None:
        """List them, with those of conditions if they are wanted, too."""
        self._door.require(request, "stack.preview")
        try:
            wanted = version_named(version)
        except InvalidInput as error:
            raise NotFound(str(error)) from error
        found = {each.name: each for each in describe_functions(wanted)}
        if Query(request).flag("with_condition_func"):
            found |= {each.name: each for each in describe_functions(wanted, in_conditions=True)}
        response.media = {
            "template_functions": [
                {"functions": name, "description": each.summary} for name, each in sorted(found.items())
            ]
        }
