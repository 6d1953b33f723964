"""Schemas of what is sent and answered, as JSON Schema: the parts of the OpenAPI document. Pure."""

from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

ANYTHING: Final[Schema] = {}
TEXT: Final[Schema] = {"type": "string"}
FLAG: Final[Schema] = {"type": "boolean"}
NUMBER: Final[Schema] = {"type": "integer", "minimum": 0}
NOTHING: Final[Schema] = {"type": "null"}
MAP: Final[Schema] = {"type": "object"}


def maybe(schema: Schema) -> Schema:
    """Return the schema of a value that may be null."""
    return {"anyOf": [schema, NOTHING]}


def many(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def by_name(schema: Schema) -> Schema:
    """Return the schema of a map with any names."""
    return {"type": "object", "additionalProperties": schema}


def fields(always: Mapping[str, Schema], sometimes: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of a map with these fields, and no others."""
    return {
        "type": "object",
        "properties": {**always, **(sometimes or {})},
        "required": list(always),
        "additionalProperties": False,
    }


def named(name: str) -> Schema:
    """Return a reference to one of :data:`COMPONENTS`."""
    return {"$ref": f"#/components/schemas/{name}"}


def wrapped(name: str, schema: Schema) -> Schema:
    """Return the schema of a map with one field."""
    return fields({name: schema})


def words(*allowed: str) -> Schema:
    """Return the schema of a text that is one of these."""
    return {"type": "string", "enum": list(allowed)}


def body(**given: Schema) -> Schema:
    """Return the schema of a map that is sent: a field that is null counts as missing, and others are ignored."""
    return {"type": "object", "properties": {name: maybe(schema) for name, schema in given.items()}}


MAYBE_TEXT: Final = maybe(TEXT)
#: In UTC and without fractions, or null.
TIME: Final = maybe({"type": "string", "format": "date-time"})
#: What is written ``true`` or ``false`` by some clients, and with a capital by others.
SAID_FLAG: Final[Schema] = {"anyOf": [FLAG, words("true", "false", "True", "False")]}
LINKS: Final = many(fields({"href": TEXT, "rel": TEXT}))
_MINUTES: Final[Schema] = {"type": "number", "minimum": 0}
_DOCUMENT: Final[Schema] = {"anyOf": [MAP, TEXT]}

_STACK_ITEM: Final[Mapping[str, Schema]] = {
    "id": TEXT,
    "links": LINKS,
    "stack_name": TEXT,
    "description": TEXT,
    "stack_status": TEXT,
    "stack_status_reason": TEXT,
    "creation_time": TIME,
    "updated_time": TIME,
    "deletion_time": TIME,
    "stack_owner": MAYBE_TEXT,
    "parent": MAYBE_TEXT,
    "stack_user_project_id": MAYBE_TEXT,
    "tags": maybe(many(TEXT)),
    # Not Heat's: what an update with targets has left.
    "partial": many(TEXT),
}
_RESOURCE_ITEM: Final[Mapping[str, Schema]] = {
    "resource_name": TEXT,
    "logical_resource_id": TEXT,
    "resource_type": TEXT,
    "resource_status": TEXT,
    "resource_status_reason": TEXT,
    "physical_resource_id": TEXT,
    "creation_time": TIME,
    "updated_time": TIME,
    "required_by": many(TEXT),
    "links": LINKS,
}
_EVENT_ITEM: Final[Mapping[str, Schema]] = {
    "id": TEXT,
    "event_time": TIME,
    "links": LINKS,
    "resource_name": TEXT,
    "logical_resource_id": TEXT,
    "physical_resource_id": TEXT,
    "resource_status": TEXT,
    "resource_status_reason": TEXT,
}
_OUTPUT_ITEM: Final[Mapping[str, Schema]] = {"output_key": TEXT, "description": TEXT}
_DEFINITION: Final[Mapping[str, Schema]] = {
    "template": _DOCUMENT,
    "template_url": TEXT,
    "environment": _DOCUMENT,
    "environment_files": many(TEXT),
    "files": MAP,
    "parameters": MAP,
    "timeout_mins": {"anyOf": [_MINUTES, TEXT]},
    "disable_rollback": SAID_FLAG,
    "tags": TEXT,
}
_PREVIEWED_CHANGE: Final = fields(
    {
        "resource_name": TEXT,
        "resource_type": TEXT,
        "resource_identity": NOTHING,
        "physical_resource_id": TEXT,
        "resource_status": TEXT,
        "resource_status_reason": TEXT,
        "resource_action": TEXT,
        "creation_time": TIME,
        "updated_time": TIME,
        "description": TEXT,
        "attributes": MAP,
        "metadata": MAP,
        "properties": MAP,
        "required_by": many(TEXT),
    }
)
_PREVIEWED_STACK: Final[Mapping[str, Schema]] = {
    **{
        name: schema
        for name, schema in _STACK_ITEM.items()
        if name not in ("stack_status", "stack_status_reason", "stack_user_project_id", "partial")
    },
    "id": NOTHING,
}
_SHOWN_STACK: Final[Mapping[str, Schema]] = {
    "template_description": TEXT,
    "parameters": by_name(TEXT),
    "disable_rollback": FLAG,
    "timeout_mins": maybe(_MINUTES),
    "capabilities": many(TEXT),
    "notification_topics": many(TEXT),
}
_SUPPORT: Final = fields(
    {"status": TEXT, "message": MAYBE_TEXT, "version": MAYBE_TEXT, "previous_status": maybe(named("Support"))}
)
_SOFTWARE_CONFIG_ITEM: Final[Mapping[str, Schema]] = {
    "id": TEXT,
    "name": TEXT,
    "group": TEXT,
    "creation_time": TIME,
}
_CHANGE_KINDS: Final = ("unchanged", "updated", "replaced", "added", "deleted")

#: The parts that several answers, or many places of one, share.
COMPONENTS: Final[Mapping[str, Schema]] = {
    "Fault": fields(
        {
            "code": {"type": "integer", "minimum": 400},
            "title": TEXT,
            "explanation": TEXT,
            "error": fields({"type": TEXT, "traceback": NOTHING}, {"message": TEXT}),
        }
    ),
    "StackItem": fields(_STACK_ITEM, {"project": TEXT}),
    "Stack": fields({**_STACK_ITEM, **_SHOWN_STACK}, {"outputs": many(named("Output"))}),
    "PreviewedStack": fields(
        {
            **_PREVIEWED_STACK,
            **_SHOWN_STACK,
            "resources": many(named("PreviewedResource")),
        }
    ),
    # A nested stack is the list of its resources.
    "PreviewedResource": {
        "anyOf": [
            many(named("PreviewedResource")),
            fields(
                {
                    **{name: s for name, s in _RESOURCE_ITEM.items() if not name.endswith("_time")},
                    "properties": MAP,
                    "attributes": MAP,
                    "description": TEXT,
                    "metadata": MAP,
                }
            ),
        ]
    },
    "Changes": wrapped(
        "resource_changes", fields(dict.fromkeys(_CHANGE_KINDS, many(named("PreviewedChange"))))
    ),
    "PreviewedChange": _PREVIEWED_CHANGE,
    "Creation": {
        **body(stack_name=TEXT, adopt_stack_data=TEXT, **_DEFINITION),
        "required": ["stack_name"],
    },
    "Update": body(converge=SAID_FLAG, **_DEFINITION),
    "PartialUpdate": body(converge=SAID_FLAG, clear_parameters=many(TEXT), **_DEFINITION),
    # An entry is an object's physical id, or as in an adopt document.
    "Import": {
        **body(
            resources=by_name({"anyOf": [TEXT, MAP]}),
            clear_parameters=many(TEXT),
            **{name: schema for name, schema in _DEFINITION.items() if name != "disable_rollback"},
        ),
        "required": ["resources"],
    },
    "ImportChanges": wrapped(
        "resource_changes", fields(dict.fromkeys(("imported", "unchanged"), many(named("PreviewedChange"))))
    ),
    "Output": fields({**_OUTPUT_ITEM, "output_value": ANYTHING}, {"output_error": TEXT}),
    "OutputItem": fields(_OUTPUT_ITEM),
    "Snapshot": fields(
        {
            "id": TEXT,
            "name": MAYBE_TEXT,
            "status": TEXT,
            "status_reason": TEXT,
            "creation_time": TIME,
            "action": TEXT,
            "data": MAP,
        }
    ),
    "Resource": fields(
        _RESOURCE_ITEM, {"parent_resource": TEXT, "description": TEXT, "attributes": by_name(ANYTHING)}
    ),
    "EventItem": fields(_EVENT_ITEM),
    "Event": fields({**_EVENT_ITEM, "resource_type": TEXT, "resource_properties": MAP}),
    "Support": _SUPPORT,
    "Property": fields(
        {
            "type": TEXT,
            "required": FLAG,
            "update_allowed": FLAG,
            "immutable": FLAG,
            "description": TEXT,
            "constraints": many(MAP),
        },
        {"default": ANYTHING, "schema": by_name(named("Property"))},
    ),
    "Type": fields(
        {
            "resource_type": TEXT,
            "properties": by_name(named("Property")),
            "attributes": by_name(fields({"description": TEXT}, {"type": TEXT})),
            "support_status": named("Support"),
        },
        {"description": TEXT},
    ),
    "Declarations": fields(
        {"Description": TEXT, "Parameters": by_name(named("Declaration"))},
        {
            "NestedParameters": by_name(named("NestedDeclarations")),
            "ParameterGroups": many(
                fields({"label": MAYBE_TEXT, "description": MAYBE_TEXT, "parameters": many(TEXT)})
            ),
            "Environment": MAP,
        },
    ),
    "NestedDeclarations": fields(
        {
            "Type": TEXT,
            "Description": TEXT,
            "Parameters": by_name(named("Declaration")),
            "NestedParameters": by_name(named("NestedDeclarations")),
        }
    ),
    "Declaration": {
        "type": "object",
        "properties": {"Type": TEXT, "Description": TEXT, "NoEcho": words("true", "false"), "Label": TEXT},
        "required": ["Type", "Description", "NoEcho", "Label"],
    },
    "SoftwareConfigItem": fields(_SOFTWARE_CONFIG_ITEM),
    "SoftwareConfig": fields(
        {
            **_SOFTWARE_CONFIG_ITEM,
            "config": {"anyOf": [TEXT, MAP]},
            "inputs": many(MAP),
            "outputs": many(MAP),
            "options": MAP,
        }
    ),
    "SoftwareDeployment": fields(
        {
            **dict.fromkeys(("id", "config_id", "server_id"), TEXT),
            **dict.fromkeys(("action", "status", "status_reason", "stack_user_project_id"), MAYBE_TEXT),
            "input_values": MAP,
            "output_values": MAP,
            "creation_time": TIME,
            "updated_time": TIME,
        }
    ),
}
