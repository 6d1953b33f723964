"""In one examination another system is asked about a value once, wherever it is used and whatever the answer is."""

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest

from cache.constraints.cache import ConstraintCache
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, NotVerified
from orchestrator.model.messages import StackJob
from orchestrator.plugins import custom
from orchestrator.plugins.asking import AmbiguousName, EntityNotFound, NamedClients
from orchestrator.plugins.client_plugin import ClientPlugin, LookupCache
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.custom import ClientConstraint, Custom, CustomConstraint, CustomConstraints
from orchestrator.plugins.groups import API_VERSIONS, CLIENT_PLUGIN, PROPERTIES, VERSIONS
from orchestrator.plugins.properties import Property, PropertyNotVerified, PropertyType
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.translation import Resolve
from orchestrator.plugins.validating import valid_properties
from orchestrator.validation.job import examine_job

USES = 64
#: Names, by what is answered.
ANSWERS = ["yes", "no", "several", "down"]


class Images(ClientPlugin):
    """Answers by the name: yes, no, several; of others it cannot tell."""

    name = "images"
    entities = frozenset({"image"})
    asked: ClassVar[list[str]] = []

    @property
    def api_version(self) -> str:
        self.asked.append("version")
        raise ConnectionError("it is down")

    def look_up(self, entity: str, name: str) -> str:
        self.asked.append(name)
        match name:
            case "yes":
                return "1"
            case "no":
                raise EntityNotFound(entity, name)
            case "several":
                raise AmbiguousName(entity, name)
        raise ConnectionError("it is down")

    def colours(self) -> tuple[str, ...]:
        """Return what only this client has."""
        return ("red",)


class Image(ClientConstraint):
    name = "test.image"
    client = "images"
    entity = "image"


class Colour(CustomConstraint):
    """Asks its client by a method that not every client has."""

    name = "test.colour"
    asks_outside = True

    def fault(self, value: Any) -> str | None:
        return None

    def fault_by(self, value: Any, clients: Any) -> str | None:
        return None if value in clients.get("images").colours() else f"{value!r} is no colour"


TEXT = Property(type=PropertyType.STRING)
IMAGE = Property(type=PropertyType.STRING, constraints=(Custom("test.image"),))
DISK = Property(type=PropertyType.MAP, schema={"image": IMAGE})


class Server(Resource):
    properties_schema: ClassVar[Mapping[str, Property]] = {
        "image": IMAGE,
        "images": Property(type=PropertyType.LIST, schema=IMAGE),
        "disks": Property(type=PropertyType.LIST, schema=DISK),
        "colour": Property(type=PropertyType.STRING, constraints=(Custom("test.colour"),)),
    }


class Resolving(Resource):
    properties_schema: ClassVar[Mapping[str, Property]] = {"image": TEXT}

    @classmethod
    def translation_rules(cls, _properties: Mapping[str, Any]) -> tuple[Resolve, ...]:
        return (Resolve(path=("image",), client="images", entity="image"),)


class Versioned(Resource):
    properties_schema: ClassVar[Mapping[str, Property]] = {"image": TEXT}
    properties_groups_schema = (
        {API_VERSIONS: {CLIENT_PLUGIN: "images", VERSIONS: ["2"], PROPERTIES: [["image"]]}},
    )


TYPES = ResourceTypes(
    {**ResourceTypes.load(), "Server": Server, "Resolving": Resolving, "Versioned": Versioned}
)


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = CustomConstraints({**CustomConstraints.load(), "test.image": Image(), "test.colour": Colour()})
    monkeypatch.setattr(custom, "_on_demand", lambda _: found)
    monkeypatch.setattr(Images, "asked", [])


def resources(kind: str, properties: Mapping[str, object], many: int = USES) -> dict[str, object]:
    return {f"r{each}": {"type": kind, "properties": properties} for each in range(many)}


def template(named: Mapping[str, object], parameters: Mapping[str, object] | None = None) -> str:
    return json.dumps(
        {"heat_template_version": "2021-04-16", "parameters": parameters or {}, "resources": named}
    )


def of_type(kind: str) -> Callable[[str], StackJob]:
    return lambda name: StackJob(
        name="s", template=template(resources(kind, {"image": name})), template_file="t.yaml"
    )


def in_lists(name: str) -> StackJob:
    disks = [{"image": name}] * USES
    named = resources("Server", {"image": name, "images": [name] * USES, "disks": disks}, many=2)
    return StackJob(name="s", template=template(named), template_file="t.yaml")


def in_parameters(name: str) -> StackJob:
    schema = {"type": "string", "default": name, "constraints": [{"custom_constraint": "test.image"}]}
    parameters = {f"p{each}": schema for each in range(USES)}
    named = resources("Server", {"image": {"get_param": "p0"}})
    return StackJob(name="s", template=template(named, parameters), template_file="t.yaml")


def in_nested_templates(name: str) -> StackJob:
    inner = template(resources("Server", {"image": name}, many=8))
    # Problems of one file are reported once.
    files = {f"inner{each}.yaml": inner for each in range(USES // 8)}
    nested = {f"n{each}": {"type": file} for each, file in enumerate(files)}
    return StackJob(name="s", template=template(nested), template_file="t.yaml", files=files)


USED: Mapping[str, Callable[[str], StackJob]] = {
    "properties": of_type("Server"),
    "translation rules": of_type("Resolving"),
    "lists": in_lists,
    "parameters": in_parameters,
    "nested templates": in_nested_templates,
}
CACHES: Mapping[str, Callable[[], LookupCache | None]] = {
    "memory": lambda: ConstraintCache("images"),
    "none": lambda: None,
    "dead": lambda: ConstraintCache("images", backend="redis", url="redis://127.0.0.1:1/0"),
}


def examine(job: StackJob, cache: LookupCache | None) -> None:
    examine_job(job, TYPES, Settings(), clients=Clients(Settings(), {"images": Images}, lambda _: cache))


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("used", USED)
@pytest.mark.parametrize("name", ANSWERS)
def test_one_value_is_asked_about_once(name: str, used: str, cache: str) -> None:
    job = USED[used](name)
    if name == "yes":
        examine(job, CACHES[cache]())
    elif name == "down":
        with pytest.raises(NotVerified, match="it is down"):
            examine(job, CACHES[cache]())
    else:
        with pytest.raises(InvalidInput, match=f"'{name}'") as caught:
            examine(job, CACHES[cache]())
        # Every use is reported nevertheless.
        assert len(caught.value.problems) >= USES
    assert Images.asked == [name]


@pytest.mark.parametrize("cache", CACHES)
def test_one_version_is_asked_for_once(cache: str) -> None:
    with pytest.raises(NotVerified, match="it is down"):
        examine(of_type("Versioned")("yes"), CACHES[cache]())
    assert Images.asked == ["version"]


def test_the_next_examination_asks_anew() -> None:
    for _ in range(3):
        with pytest.raises(InvalidInput):
            examine(of_type("Server")("no"), None)
    assert Images.asked == ["no"] * 3


def clients() -> NamedClients:
    return Clients(Settings(), {"images": Images}, lambda _: None).of("p")


@pytest.mark.parametrize("name", ["yes", "down"])
def test_the_examination_before_an_action_asks_once(name: str) -> None:
    given = {"images": [name] * USES, "disks": [{"image": name}] * USES}
    if name == "down":
        with pytest.raises(PropertyNotVerified):
            valid_properties(Server, given, clients=clients())
    else:
        valid_properties(Server, given, clients=clients())
    assert Images.asked == [name]


def test_a_constraint_may_call_what_only_its_client_has() -> None:
    assert valid_properties(Server, {"colour": "red"}, clients=clients())["colour"] == "red"
    with pytest.raises(Exception, match="'blue' is no colour"):
        valid_properties(Server, {"colour": "blue"}, clients=clients())
