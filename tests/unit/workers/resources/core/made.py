"""Makes resources for tests, the way a check makes them: properties converted, state and time given."""

from collections.abc import Mapping
from typing import Any, TypeVar

from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.plugins.properties import check_properties, convert_properties
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceState

#: When the action under way was first claimed, unless a test says otherwise.
STARTED = 1000.0
UUID = "2f1c6d0e-3f0a-4b52-9a44-000000000001"

R = TypeVar("R", bound=Resource)


def make(
    kind: type[R],
    properties: Mapping[str, Any] | None = None,
    *,
    state: ResourceState | None = None,
    now: float = STARTED,
    watched: Mapping[str, Any] | None = None,
) -> R:
    """Return a resource of the type ``kind``; ``state`` is as after an earlier step, or new."""
    return kind(
        name="it",
        type_name=kind.__name__,
        state=state or ResourceState(uuid=UUID, started_at=STARTED),
        properties=convert_properties(
            kind.properties_schema, properties or {}, accepts_anything=kind.accepts_anything
        ),
        stack=StackDefinition(name="stack", id="1"),
        settings=Settings(),
        now=now,
        watched_metadata=watched,
    )


def errors(kind: type[Resource], properties: Mapping[str, Any]) -> list[str]:
    """Return what the schema says against ``properties``, in words."""
    found = check_properties(kind.properties_schema, properties, accepts_anything=kind.accepts_anything)
    return [str(error) for error in found]


def validate(kind: type[Resource], properties: Mapping[str, Any]) -> None:
    """Ask the type itself, as validation does once the schema has nothing to say."""
    assert errors(kind, properties) == []
    converted = convert_properties(kind.properties_schema, properties, constraints=False)
    kind.validate(converted)
    kind.validate_written(converted)
