"""One step of a resource: what the plugin is given, and what people are told when it fails."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest
from structlog.testing import capture_logs

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import NodeData
from orchestrator.errors import Unavailable
from orchestrator.model.messages import CLEANUP, CONVERGE, CheckOrder
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.groups import API_VERSIONS, CLIENT_PLUGIN, PROPERTIES, VERSIONS
from orchestrator.plugins.properties import Attribute, Property, PropertyError, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure
from orchestrator.store.nodes.claims import Claim, Ending, Outcome
from orchestrator.template.template import Template
from workers.check.context import CheckContext
from workers.check.step import take_step

SETTINGS = Settings()


def step(
    kind: type[Resource],
    resource: str,
    *,
    inputs: Sequence[NodeData] = (),
    parameters: Mapping[str, Any] | None = None,
    hidden: Sequence[str] = (),
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    applied: Mapping[str, Any] | None = None,
    policy: str = "",
    wanted: Sequence[Sequence[str | int]] = (),
    clients: Clients | None = None,
) -> Outcome:
    """Take the first step of the resource ``it``, written as the template writes it (after ``it:``).

    Of its creation, or of its deletion where properties were applied.
    """
    declared = "".join(f"  {name}: {{type: json}}\n" for name in parameters or {})
    others = "".join(f"  {each.name}: {{type: Test}}\n" for each in inputs)
    source = (
        f"heat_template_version: 2021-04-16\nparameters:\n{declared}resources:\n  it: {resource}\n{others}"
    )
    template = Template.parse(source, file="t.yaml", files={}, limits=Limits.of(SETTINGS))
    assert template.check_references() == []
    claim = Claim(
        order=CheckOrder(
            stack_id="1",
            traversal_id="2",
            no=1,
            key="it",
            phase=CONVERGE if applied is None else CLEANUP,
            node_data=(),
        ),
        attempt=1,
        action="CREATE" if applied is None else "DELETE",
        now=0.0,
        retries=0,
        fragment={"definition": template.resources["it"].fragment()}
        if applied is None
        else {"policy": policy},
        wanted=wanted,
        dependents=(),
        requirements=(),
        resource_id="row of it",
        type="Test",
        physical_id=None,
        properties=applied,
        data={},
        metadata=None,
        token=None,
        started=False,
        started_at=0.0,
    )
    context = {"id": "1", "name": "s", "project": "p", "parameters": parameters or {}, "hidden": list(hidden)}
    check = CheckContext(
        types={"Test": kind},
        settings=SETTINGS,
        limits=Limits.of(SETTINGS),
        context=context,
        inputs=[each.to_wire() for each in inputs],
        files=lambda digests: digests,
        metadata_of=lambda resource_id: (metadata or {}).get(resource_id, {}),
        annotations_of=lambda _: {},
        random=random.Random(1),
        child_of=lambda *_: pytest.fail("no stack is in this one"),
        clients=clients or Clients(SETTINGS),
    )
    return take_step(claim, check)


def made(name: str, *, reference_id: str | None) -> NodeData:
    """Return the data of a resource that is complete."""
    return NodeData(
        uuid=f"row of {name}",
        name=name,
        action="CREATE",
        status="COMPLETE",
        physical_id=f"physical {name}",
        reference_id=reference_id,
    )


class Watcher(Resource):
    """Remembers the metadata it was given of the resource that its property refers to."""

    watches = "of"
    properties_schema: ClassVar[Mapping[str, Property]] = {"of": Property(type=PropertyType.STRING)}

    def handle_create(self) -> None:
        self.state.data["seen"] = dict(self.watched_metadata)


def test_the_watched_resource_is_found_by_whatever_get_resource_says_of_it() -> None:
    metadata = {"row of a": {"signal": "a"}, "row of b": {"signal": "b"}}
    inputs = [made("a", reference_id="a secret"), made("b", reference_id=None)]
    for name in ("a", "b"):
        outcome = step(
            Watcher,
            f"{{type: Test, properties: {{of: {{get_resource: {name}}}}}}}",
            inputs=inputs,
            metadata=metadata,
        )
        assert outcome.ending is Ending.DONE
        assert outcome.data["seen"] == {"signal": name}


def test_a_watched_resource_may_be_named_by_its_id_written_out() -> None:
    outcome = step(
        Watcher, "{type: Test, properties: {of: row of c}}", metadata={"row of c": {"signal": "c"}}
    )
    assert outcome.data["seen"] == {"signal": "c"}


class Choosy(Resource):
    """Takes only few values, and looks once more before it creates."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "size": Property(type=PropertyType.INTEGER),
        "word": Property(type=PropertyType.STRING),
    }

    def handle_create(self) -> None:
        raise PropertyError(("word",), f"found {self.properties['word']!r}", veiled="found the wrong word")


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ("{size: many}", "properties.size: expected a whole number, found 'many'"),
        ("{size: {get_param: open}}", "properties.size: expected a whole number, found 'open text'"),
        ("{size: {get_param: password}}", "properties.size: expected a whole number, found something else"),
        ("{size: {get_resource: a}}", "properties.size: expected a whole number, found something else"),
        ("{word: plain}", "properties.word: found 'plain'"),
        ("{word: {get_resource: a}}", "properties.word: found the wrong word"),
        (
            "{word: {str_replace: {template: x, params: {x: {get_param: password}}}}}",
            "properties.word: found the wrong word",
        ),
    ],
)
def test_a_reason_tells_only_values_that_the_template_says_itself(properties: str, reason: str) -> None:
    outcome = step(
        Choosy,
        f"{{type: Test, properties: {properties}}}",
        inputs=[made("a", reference_id="secret")],
        parameters={"password": "secret", "open": "open text"},
        hidden=["password"],
    )
    assert outcome.ending is Ending.FAILED
    assert outcome.reason == reason


def test_a_deletion_tells_no_value_since_it_cannot_know_where_it_came_from() -> None:
    outcome = step(Choosy, "{type: Test}", applied={"size": "secret"})
    assert outcome.ending is Ending.FAILED
    assert outcome.reason == "properties.size: expected a whole number, found something else"


class Cloudy(Resource):
    """Something that may exist outside: whatever is called ``there``; it must never be made or taken away here."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "size": Property(type=PropertyType.INTEGER, required=True)
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {
        "id": Attribute("its id"),
        "ports": Attribute("its ports"),
    }

    def handle_create(self) -> None:
        raise AssertionError("made")

    def handle_delete(self) -> None:
        raise AssertionError("taken away")

    def observe(self) -> Mapping[str, Any] | None:
        return {} if self.state.physical_id == "there" else None

    def attribute(self, name: str) -> Any:
        return self.state.physical_id if name == "id" else [22, 80]


def test_what_exists_already_is_taken_as_it_is_and_tells_its_attributes() -> None:
    outcome = step(
        Cloudy,
        "{type: Test, external_id: there, properties: {size: many}}",
        wanted=[["*"], ["show", "ports", 1], ["id"]],
    )
    assert outcome.ending is Ending.DONE
    assert (outcome.physical_id, outcome.reference_id) == ("there", "there")
    assert outcome.properties == {}
    assert [list(each) for each in outcome.attributes] == [
        [["*"], {"id": "there", "ports": [22, 80]}],
        [["show", "ports", 1], 80],
        [["id"], "there"],
    ]


def test_what_should_exist_already_and_does_not_fails() -> None:
    outcome = step(Cloudy, "{type: Test, external_id: gone}")
    assert outcome.ending is Ending.FAILED
    assert outcome.reason == "there is no object with the external_id 'gone'"


def test_what_is_left_alone_is_not_asked_whether_its_properties_still_fit() -> None:
    outcome = step(Cloudy, "{type: Test}", applied={"size": "many"}, policy="Retain")
    assert outcome.ending is Ending.DONE


class Away(Resource):
    """Needs something that is away at the moment."""

    def handle_create(self) -> None:
        raise Unavailable("away")


def test_what_is_away_is_asked_again_later() -> None:
    outcome = step(Away, "{type: Test}")
    assert outcome.ending is Ending.RETRY
    assert outcome.reason == "away"


class Versions(ClientPlugin):
    """Speaks one version, or none where it cannot be reached."""

    name = "versions"
    version: ClassVar[str] = ""

    @property
    def api_version(self) -> str:
        if not self.version:
            raise ConnectionError("no route")
        return self.version

    def look_up(self, entity: str, name: str) -> str:
        return name


class Versioned(Resource):
    """Has a property that not every version of an API knows."""

    properties_schema: ClassVar[Mapping[str, Property]] = {"tags": Property(type=PropertyType.STRING)}
    properties_groups_schema = (
        {API_VERSIONS: {CLIENT_PLUGIN: "versions", VERSIONS: [">=2.19"], PROPERTIES: [["tags"]]}},
    )


@pytest.mark.parametrize(
    ("version", "ending", "reason"),
    [
        ("2.19", Ending.DONE, ""),
        (
            "2.9",
            Ending.FAILED,
            (
                "properties.tags: expected tags only with API version >=2.19 of the client plugin 'versions', "
                "found version 2.9"
            ),
        ),
        (
            "",
            Ending.RETRY,
            (
                "properties.tags: cannot determine the API version of the client plugin 'versions': "
                "ConnectionError: no route"
            ),
        ),
    ],
)
def test_a_property_needs_a_version_of_an_api_that_is_spoken_when_the_action_begins(
    version: str, ending: Ending, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Versions, "version", version)
    outcome = step(
        Versioned, "{type: Test, properties: {tags: x}}", clients=Clients(SETTINGS, {"versions": Versions})
    )
    assert (outcome.ending, outcome.reason) == (ending, reason)


class Refused(Exception):
    """The other system refused it."""


class Traced(ClientPlugin):
    """Knows the id of what was refused."""

    name = "traced"

    def request_id_of(self, error: Exception) -> str:
        return "req-7" if isinstance(error, Refused) else ""

    def look_up(self, entity: str, name: str) -> str:
        raise NotImplementedError


class Asking(Resource):
    """Has its request refused."""

    properties_schema: ClassVar[Mapping[str, Property]] = {"how": Property(type=PropertyType.STRING)}

    def handle_create(self) -> None:
        self.client("traced")
        if self.properties["how"] == "itself":
            raise Refused("no")
        if self.properties["how"] == "by mistake":
            raise KeyError("id") from Refused("no")
        if self.properties["how"] == "told":
            raise ResourceFailure("no, see req-7") from Refused("no")
        if self.properties["how"] == "led to":
            raise ResourceFailure("it cannot be") from Refused("no")
        raise ResourceFailure("no luck")


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("itself", "Refused: no (request req-7)"),
        ("led to", "it cannot be (request req-7)"),
        ("told", "no, see req-7"),
        ("otherwise", "no luck"),
    ],
)
def test_a_failure_names_the_request_that_led_to_it(how: str, reason: str) -> None:
    outcome = step(
        Asking, f"{{type: Test, properties: {{how: {how}}}}}", clients=Clients(SETTINGS, {"traced": Traced})
    )
    assert (outcome.ending, outcome.reason) == (Ending.FAILED, reason)


@pytest.mark.parametrize(
    ("how", "line"), [("itself", "a request was refused"), ("by mistake", "a plugin raised")]
)
def test_only_a_mistake_of_a_plugin_is_logged_with_a_traceback(how: str, line: str) -> None:
    template = f"{{type: Test, properties: {{how: {how}}}}}"
    with capture_logs() as logged:
        step(Asking, template, clients=Clients(SETTINGS, {"traced": Traced}))
    (told,) = (each for each in logged if each["log_level"] == "warning")
    assert told["event"] == line
    assert ("exc_info" in told) == (line == "a plugin raised")
    assert told.get("request") == ("req-7" if how == "itself" else None)
