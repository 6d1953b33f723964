"""What other systems say of a template: asked once nothing else is wrong, many at a time, told with positions."""

import threading
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, NotVerified
from orchestrator.model.messages import StackJob
from orchestrator.plugins import custom
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.custom import ClientConstraint, Custom, CustomConstraints
from orchestrator.plugins.groups import API_VERSIONS, CLIENT_PLUGIN, PROPERTIES, VERSIONS
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.validation.external import AT_ONCE, asks_outside
from orchestrator.validation.job import examine_job
from tests.waiting import PATIENCE_SECONDS


class Images(ClientPlugin):
    """Knows images whose names do not begin with "no"; of "down" it cannot tell."""

    name = "images"
    entities = frozenset({"image"})
    asked: ClassVar[list[str]] = []
    #: How many must ask at the same time before any is answered.
    together: ClassVar[threading.Barrier] = threading.Barrier(1)

    def look_up(self, entity: str, name: str) -> str:
        self.asked.append(name)
        self.together.wait(timeout=PATIENCE_SECONDS)
        if name.startswith("down"):
            raise ConnectionError("SECRET is down")
        if name.startswith("no"):
            raise EntityNotFound(entity, name)
        return name


class Image(ClientConstraint):
    name = "test.image"
    client = "images"
    entity = "image"


IMAGE = Property(type=PropertyType.STRING, constraints=(Custom("test.image"),))


class Server(Resource):
    properties_schema: ClassVar[Mapping[str, Property]] = {
        "image": IMAGE,
        "size": Property(type=PropertyType.INTEGER),
        "disks": Property(
            type=PropertyType.LIST, schema=Property(type=PropertyType.MAP, schema={"image": IMAGE})
        ),
    }


TYPES = ResourceTypes({**ResourceTypes.load(), "Server": Server})


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = CustomConstraints({**CustomConstraints.load(), "test.image": Image()})
    monkeypatch.setattr(custom, "_on_demand", lambda _: found)
    monkeypatch.setattr(Images, "asked", [])


def examine(resources: str, *, asking: bool = True, parameters: str = "", **values: Any) -> None:
    template = f"heat_template_version: 2021-04-16\n{parameters}resources:\n{resources}"
    job = StackJob(name="s", template=template, template_file="t.yaml", parameters=values)
    clients = Clients(Settings(), {"images": Images}, lambda _: None) if asking else None
    examine_job(job, TYPES, Settings(), clients=clients)


def test_every_use_of_what_is_not_there_is_told_with_its_place() -> None:
    with pytest.raises(InvalidInput) as raised:
        examine(
            "  a: {type: Server, properties: {image: none, disks: [{image: a}, {image: nope}]}}\n"
            "  b: {type: Server, properties: {image: b}}\n"
            "  c: {type: Server, properties: {image: nowhere}}\n"
        )
    assert [(problem.path, problem.message.partition(";")[0]) for problem in raised.value.problems] == [
        ("resources.a.properties.image", "there is no image 'none'"),
        ("resources.a.properties.disks[1].image", "there is no image 'nope'"),
        ("resources.c.properties.image", "there is no image 'nowhere'"),
    ]
    positions = [problem.position and problem.position.line for problem in raised.value.problems]
    assert positions == [3, 3, 5]


def test_nobody_is_asked_about_a_template_that_is_refused_anyway() -> None:
    with pytest.raises(InvalidInput, match="expected a whole number"):
        examine(
            "  a: {type: Server, properties: {image: none}}\n  b: {type: Server, properties: {size: x}}\n"
        )
    assert Images.asked == []


def test_nobody_is_asked_without_clients_nor_about_what_is_not_known_yet() -> None:
    resources = "  a: {type: Server, properties: {image: none}}\n"
    examine(resources, asking=False)
    examine(
        "  a: {type: OS::Heat::RandomString}\n"
        "  b: {type: Server, properties: {image: {get_attr: [a, value]}}}\n"
        "  c: {type: Server, external_id: x}\n"
    )
    assert Images.asked == []


def test_many_are_asked_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Images, "together", threading.Barrier(AT_ONCE))
    examine(
        "".join(f"  r{each}: {{type: Server, properties: {{image: i{each}}}}}\n" for each in range(AT_ONCE))
    )
    assert sorted(Images.asked) == sorted(f"i{each}" for each in range(AT_ONCE))


def test_no_query_begins_once_one_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Images, "together", threading.Barrier(AT_ONCE))
    names = [f"down{each}" for each in range(3 * AT_ONCE)]
    with pytest.raises(NotVerified):
        examine("".join(f"  {name}: {{type: Server, properties: {{image: {name}}}}}\n" for name in names))
    assert sorted(Images.asked) == sorted(names[:AT_ONCE])


def test_what_nobody_can_tell_ends_the_examination_with_a_place() -> None:
    resources = "  a: {type: Server, properties: {image: down}}\n"
    with pytest.raises(
        NotVerified, match=r"^t\.yaml:3:\d+: resources\.a\.properties\.image: cannot check"
    ) as raised:
        examine(resources)
    assert "'down' exists: ConnectionError: SECRET is down" in str(raised.value)
    problem = raised.value.problem
    assert (problem.path, problem.position and problem.position.line) == ("resources.a.properties.image", 3)


def test_what_is_wrong_for_certain_is_told_although_nobody_can_tell_the_rest() -> None:
    one = "{type: string, constraints: [{custom_constraint: test.image}]}"
    parameters = f"parameters: {{p: {one}, q: {{type: number}}}}\n"
    with pytest.raises(InvalidInput) as raised:
        examine("  a: {type: OS::Heat::None}\n", parameters=parameters, p="down", q="many")
    assert [problem.path for problem in raised.value.problems] == ["parameters.q"]


def test_a_hidden_value_is_not_told_when_nobody_can_tell() -> None:
    parameters = "parameters: {p: {type: string, hidden: true}}\n"
    resources = "  a: {type: Server, properties: {image: {get_param: p}}}\n"
    with pytest.raises(NotVerified) as raised:
        examine(resources, parameters=parameters, p="down")
    assert "cannot check the value: it must satisfy the custom constraint 'test.image'" in str(raised.value)
    assert "down" not in str(raised.value)


def test_a_parameter_is_asked_about_where_it_is_given() -> None:
    parameters = "parameters: {p: {type: string, constraints: [{custom_constraint: test.image}]}}\n"
    resources = "  a: {type: OS::Heat::None}\n"
    with pytest.raises(InvalidInput, match="there is no image 'nope'"):
        examine(resources, parameters=parameters, p="nope")
    with pytest.raises(NotVerified, match=r"parameters\.p: cannot check whether the image 'down' exists"):
        examine(resources, parameters=parameters, p="down")
    examine(resources, parameters=parameters, p="nope", asking=False)


def test_types_ask_if_a_constraint_of_theirs_does_however_deep() -> None:
    assert asks_outside(Server)
    assert not asks_outside(TYPES["OS::Heat::RandomString"])

    class Deep(Resource):
        properties_schema: ClassVar[Mapping[str, Property]] = {"disks": Server.properties_schema["disks"]}

    assert asks_outside(Deep)

    class Versioned(Resource):
        properties_schema: ClassVar[Mapping[str, Property]] = {"new": Property(type=PropertyType.STRING)}
        properties_groups_schema = (
            {API_VERSIONS: {CLIENT_PLUGIN: "images", VERSIONS: ["2"], PROPERTIES: [["new"]]}},
        )

    assert asks_outside(Versioned)


@pytest.mark.parametrize("other", ["fine", "down"])
def test_a_query_that_hangs_does_not_hold_the_job_for_ever(other: str) -> None:
    go, given_up = threading.Event(), threading.Event()

    class Hanging(Images):
        def look_up(self, entity: str, name: str) -> str:
            if name == "hangs":
                go.wait(PATIENCE_SECONDS)
                assert given_up.is_set(), "it was waited for"
            return super().look_up(entity, name)

    settings = Settings(step_timeout_seconds=0.2)
    clients = Clients(settings, {"images": Hanging}, lambda _: None)
    resources = "".join(
        f"  {name}: {{type: Server, properties: {{image: {image}}}}}\n"
        for name, image in {"a": "hangs", "b": other}.items()
    )
    job = StackJob(name="s", template=f"heat_template_version: 2021-04-16\nresources:\n{resources}")
    try:
        with pytest.raises(NotVerified, match=r"resource 'a': queries .* took longer than 0\.2 s"):
            examine_job(job, TYPES, settings, clients=clients)
        given_up.set()
    finally:
        go.set()
