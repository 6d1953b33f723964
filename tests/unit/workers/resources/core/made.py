"""Makes resources for tests, the way a check makes them: properties converted, state and time given."""

from collections.abc import Mapping
from typing import Any, TypeVar

from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.plugins.properties import check_properties, convert_properties
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceState
from orchestrator.views.software import SoftwareConfigView

#: When the action under way was first claimed, unless a test says otherwise.
STARTED = 1000.0
UUID = "2f1c6d0e-3f0a-4b52-9a44-000000000001"

R = TypeVar("R", bound=Resource)


class MemorySoftware:
    """The software of one resource, and configs of others."""

    def __init__(self, uuid: str) -> None:
        self._uuid = uuid
        self.configs: dict[str, SoftwareConfigView] = {}
        self.deployment: dict[str, Any] | None = None
        self.user: str | None = None
        self.replaced = False

    def config(self, config_id: str) -> SoftwareConfigView | None:
        return self.configs.get(config_id)

    def put_config(self, config: Mapping[str, Any]) -> None:
        self.add(self._uuid, **config)

    def add(self, config_id: str, **config: Any) -> None:
        fields = {
            "name": "c",
            "group": "script",
            "config": "",
            "inputs": (),
            "outputs": (),
            "options": {},
            **config,
        }
        self.configs[config_id] = SoftwareConfigView(id=config_id, created_at=0.0, **fields)

    def deploy(self, deployment: Mapping[str, Any], config_id: str, config: Mapping[str, Any]) -> None:
        self.deployment = {**deployment, "config_id": config_id}
        self.add(config_id, **config)

    def conclude(self, status: str, reason: str, output_values: Mapping[str, Any]) -> None:
        assert self.deployment is not None
        self.deployment |= {"status": status, "status_reason": reason, "output_values": dict(output_values)}

    def remove(self) -> str | None:
        if self.user is None:
            self.configs.pop(self._uuid, None)
            self.deployment = None
        return self.user

    def is_replaced(self) -> bool:
        return self.replaced


def make(
    kind: type[R],
    properties: Mapping[str, Any] | None = None,
    *,
    state: ResourceState | None = None,
    now: float = STARTED,
    watched: Mapping[str, Any] | None = None,
) -> R:
    """Return a resource of the type ``kind``; ``state`` is as after an earlier step, or new."""
    resource = kind(
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
    software = MemorySoftware(resource.state.uuid)
    resource.software_of = lambda: software
    return resource


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
