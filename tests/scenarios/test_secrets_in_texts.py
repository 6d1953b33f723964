"""Secrets in whatever a plugin leaves behind: no reason, event or log line shows them, on whatever way they came."""

import base64
import json
import logging
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import quote

import pytest
import sqlalchemy as sa
import structlog

from orchestrator.engine.signals import Signals
from orchestrator.errors import Conflict, IsothermError
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.clients import ClientPlugins
from orchestrator.plugins.properties import Attribute, Property, PropertyError, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure, RetryableFailure
from orchestrator.store.tables import metadata
from tests.scenarios.world import World
from tests.services.logged import logged

HIDDEN, OLD, LITERAL, LOGIN = "hid/den marker", "old-hidden-marker", "sensitive+marker", "login&marker=1"
KEY = "-----BEGIN KEY-----\nmarkerline1\nmarkerline2\n-----END KEY-----"

HEAD = """\
heat_template_version: 2021-04-16
parameters:
  secret: {type: string, hidden: true}
  parts: {type: json, hidden: true, default: {user: ann-marker, list: [deep-marker]}}
  key: {type: string, hidden: true, default: ""}
  flag: {type: string, default: open-value}
"""
TEMPLATE = f"""\
{HEAD}
resources:
  password: {{type: OS::Heat::RandomString}}
  generated: {{type: Leaky::Source}}
  it:
    type: Leaky
    properties:
      command: [run, {{list_join: ["", [--secret=, {{get_param: secret}}]]}}, {{get_param: flag}}]
      pin: {LITERAL}
      nested: [{{token: {LITERAL}-too, name: open-name}}]
      others: [{{get_attr: [password, value]}}, {{get_resource: password}}, {{get_attr: [generated, key]}}]
      split: {{str_split: [" ", {{get_param: secret}}]}}
      address: {{get_attr: [generated, address]}}
"""

log = structlog.get_logger()
plain_log = logging.getLogger("leaky")


def encoded(text: str) -> Iterator[str]:
    """Yield a text as others may write it."""
    yield from (text, repr(text), json.dumps(text), quote(text, safe=""), shlex.quote(text))
    yield from (base64.b64encode(f"{before}{text}".encode()).decode() for before in ("", "a", "ab"))


def told(found: Iterable[object]) -> str:
    """Return all that is known, in one line and in several."""
    texts = [str(each) for each in found]
    return " | ".join(form for text in texts for form in encoded(text)) + "\n" + "\n".join(texts)


class Source(Resource):
    """Makes a secret key, and an address that is none."""

    description = "A source."
    properties_schema: ClassVar[Mapping[str, Property]] = {}
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {
        "key": Attribute("A key.", PropertyType.STRING, sensitive=True),
        "address": Attribute("An address.", PropertyType.STRING),
    }

    def handle_create(self) -> None:
        """Make the object."""
        self.state.physical_id = "source"

    def handle_delete(self) -> None:
        """Delete nothing."""

    def attribute(self, name: str) -> Any:
        """Return the attribute."""
        return "generated-key-marker" if name == "key" else "10.11.12.13"


class Client(ClientPlugin):
    """A client with credentials."""

    name = "leaky"
    options_schema: ClassVar[Mapping[str, Property]] = {
        "login": Property(type=PropertyType.STRING, sensitive=True, required=True)
    }

    def look_up(self, entity: str, name: str) -> str:
        """Find nothing."""
        raise NotImplementedError


class Leaky(Resource):
    """Tells all it knows where it fails, which it does in the methods named in ``fails``."""

    description = "A talker."
    fails: ClassVar[set[str]] = set()
    error: ClassVar[type[Exception]] = ResourceFailure
    properties_schema: ClassVar[Mapping[str, Property]] = {
        "command": Property(type=PropertyType.LIST, update_allowed=True),
        "pin": Property(type=PropertyType.STRING, sensitive=True, update_allowed=True),
        "nested": Property(
            type=PropertyType.LIST,
            update_allowed=True,
            schema=Property(
                type=PropertyType.MAP,
                schema={
                    "token": Property(type=PropertyType.STRING, sensitive=True),
                    "name": Property(type=PropertyType.STRING),
                },
            ),
        ),
        "others": Property(type=PropertyType.LIST, update_allowed=True),
        "split": Property(type=PropertyType.LIST, update_allowed=True),
        "address": Property(type=PropertyType.STRING, update_allowed=True),
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {
        "made": Attribute("What it makes up.", PropertyType.STRING, sensitive=True)
    }

    def tell(self, method: str) -> None:
        """Log what is known, and fail if this method is to."""
        known = [
            *self.properties["command"],
            self.properties["pin"],
            *(text for each in self.properties["nested"] or [] for text in each.values()),
            *(self.properties["others"] or []),
            *(self.properties["split"] or []),
            self.properties["address"],
            self.state.data.get("made", ""),
            # The client of a signal is not the world's.
            *(() if method == "signal" else self.clients.get("leaky").options.values()),
        ]
        log.info("talks", words=told(known))
        plain_log.info("talks %s", told(known))
        if method in self.fails:
            raise self.error(f"cannot {method}: {told(known)}")

    def handle_create(self) -> None:
        """Make something up, and the object."""
        self.state.data["made"] = "made-up-marker"
        self.tell("create")
        self.state.physical_id = "it"

    def find(self) -> str | None:
        """Find nothing."""
        return None

    def handle_update(self, changes: Any) -> None:
        """Talk."""
        self.tell("update")

    def handle_delete(self) -> None:
        """Talk."""
        self.tell("delete")

    def handle_suspend(self) -> None:
        """Talk."""
        self.tell("suspend")

    def observe(self) -> Mapping[str, Any] | None:
        """Talk."""
        self.tell("check")
        return self.properties

    def handle_snapshot(self) -> Any:
        """Talk."""
        self.tell("snapshot")
        return {"entry": 1}

    def handle_delete_snapshot(self, entry: Any) -> None:
        """Talk."""
        self.tell("delete snapshot")

    def handle_signal(self, details: Mapping[str, Any]) -> str:
        """Talk."""
        self.tell("signal")
        return told([*self.properties["command"], self.properties["pin"]])

    def attribute(self, name: str) -> Any:
        """Talk."""
        self.tell("attribute")
        return self.state.data.get("made")


@pytest.fixture
def world() -> Iterator[World]:
    yield leaky_world()
    Leaky.fails, Leaky.error = set(), ResourceFailure


def leaky_world() -> World:
    world = World(
        {"Leaky": Leaky, "Leaky::Source": Source, **installed("OS::Heat::RandomString")},
        clients={"leaky": {"login": LOGIN}},
        broker_url="redis://:broker-marker@127.0.0.1:1/0",
        action_retry_limit=1,
    )
    world.clients._plugins = ClientPlugins({"leaky": Client})
    return world


def installed(*names: str) -> dict[str, type[Resource]]:
    from orchestrator.plugins.registry import ResourceTypes

    types = ResourceTypes.load()
    return {name: types[name] for name in names}


def texts(world: World) -> str:
    """Return all that the database shows in the clear to those who read events and reasons."""
    found = []
    with world.store.database.read() as connection:
        for table in metadata.tables.values():
            columns = [each for each in table.c if each.name in ("reason", "error", "warning", "physical_id")]
            if columns:
                found += [str(row) for row in connection.execute(sa.select(*columns))]
    return "\n".join(found)


def markers(world: World) -> list[str]:
    """Return every secret, in every form in which the plugin tells it."""
    row = next((row for row in world.store.stacks.resources(stack_id(world)) if row.name == "password"), None)
    generated = [str(row.reference_id)] if row is not None and row.reference_id else []
    secrets = [HIDDEN, LITERAL, f"{LITERAL}-too", LOGIN, "generated-key-marker", "made-up-marker", *generated]
    return [form for each in secrets for form in encoded(each)]


def stack_id(world: World) -> str:
    return world.store.stacks.find("s", project="default").id


def assert_silent(world: World, shown: str) -> None:
    assert shown
    assert {marker for marker in markers(world) if marker.strip("'\"") in shown} == set()


@pytest.mark.parametrize("form", ["json", "console"])
@pytest.mark.parametrize("error", [ResourceFailure, RetryableFailure, RuntimeError, IsothermError])
def test_a_create_that_tells_all_it_knows(world: World, error: type[Exception], form: str) -> None:
    Leaky.fails, Leaky.error = {"create"}, error

    def run() -> None:
        world.create(TEMPLATE, parameters={"secret": HIDDEN})
        world.settle()

    lines = logged(run, form)
    assert world.state() == "CREATE_FAILED"
    shown = texts(world)
    assert "cannot create: " in shown
    assert "talks" in lines
    # What is no secret is shown.
    for each in ("10.11.12.13", "open-value", "open-name"):
        assert each in shown
        assert each in lines
    assert_silent(world, shown)
    assert_silent(world, lines)


@pytest.mark.parametrize("action", ["update", "check", "suspend", "snapshot", "delete"])
def test_other_actions_tell_no_secret(world: World, action: str) -> None:
    world.create(TEMPLATE, parameters={"secret": HIDDEN})
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    Leaky.fails, Leaky.error = {action}, RuntimeError

    def run() -> None:
        if action == "update":
            world.update(TEMPLATE, parameters={"secret": HIDDEN, "flag": "other-value"})
        else:
            getattr(world, action)()
        world.settle()

    lines = logged(run)
    assert world.state().endswith("_FAILED")
    shown = texts(world)
    assert f"cannot {action}: " in shown
    assert_silent(world, shown)
    assert_silent(world, lines)


def test_what_was_hidden_by_an_earlier_definition_is_not_told_by_what_is_left_of_it(world: World) -> None:
    world.create(TEMPLATE, parameters={"secret": OLD})
    world.settle()
    Leaky.fails = {"delete"}

    def run() -> None:
        world.update("heat_template_version: 2021-04-16\nresources: {other: {type: Leaky::Source}}")
        world.settle()

    lines = logged(run)
    shown = texts(world)
    assert "cannot delete: " in shown
    for form in encoded(OLD):
        assert form.strip("'\"") not in shown
        assert form.strip("'\"") not in lines
    assert_silent(world, shown)


def test_the_old_value_of_a_hidden_parameter_is_not_told_by_the_update_to_another(world: World) -> None:
    source = f"{HEAD}\nresources: {{it: {{type: Leaky, properties: {{command: [{{get_param: secret}}]}}}}}}"
    world.create(source, parameters={"secret": OLD})
    world.settle()
    Leaky.fails = {"update"}
    original = Leaky.handle_update

    def update(self: Leaky, changes: Any) -> None:
        raise ResourceFailure(told([changes.before["command"], changes.after["command"], OLD, HIDDEN]))

    Leaky.handle_update = update  # type: ignore[method-assign]
    try:
        world.update(source, parameters={"secret": HIDDEN})
        world.settle()
    finally:
        Leaky.handle_update = original  # type: ignore[method-assign]
    assert world.state() == "UPDATE_FAILED"
    for text in (OLD, HIDDEN):
        assert text not in texts(world)


def test_structured_and_multi_line_parameters_are_masked_part_by_part(world: World) -> None:
    words = "{get_param: [parts, user]}, {get_param: [parts, list, 0]}, {get_param: key}"
    source = f"{HEAD}\nresources: {{it: {{type: Leaky, properties: {{command: [{words}]}}}}}}"
    Leaky.fails = {"create"}
    world.create(source, parameters={"secret": HIDDEN, "key": KEY})
    world.settle()
    shown = texts(world)
    for marker in ("ann-marker", "deep-marker", "markerline1", "markerline2"):
        assert marker not in shown


def test_an_attribute_that_cannot_be_read_tells_dependents_no_secret(world: World) -> None:
    Leaky.fails = {"attribute"}

    def run() -> None:
        world.create(
            TEMPLATE + "  after: {type: Leaky, properties: {command: [x], pin: {get_attr: [it, made]}}}\n",
            parameters={"secret": HIDDEN},
        )
        world.settle()

    lines = logged(run)
    shown = texts(world)
    assert "could not be read: cannot attribute: " in shown
    assert_silent(world, shown)
    assert_silent(world, lines)


NESTED = f"""\
{HEAD}
resources:
  password: {{type: OS::Heat::RandomString}}
  generated: {{type: Leaky::Source}}
outputs:
  word: {{value: {{list_join: ["", ["p=", {{get_attr: [password, value]}}]]}}}}
  given: {{value: {{get_param: secret}}}}
  address: {{value: {{get_attr: [generated, address]}}}}
"""


def test_outputs_of_a_nested_stack_are_secrets_if_they_hold_one(world: World) -> None:
    outer = f"""\
{HEAD}
resources:
  inner: {{type: inner.yaml, properties: {{secret: {{get_param: secret}}}}}}
  it:
    type: Leaky
    properties:
      command:
        - {{get_attr: [inner, word]}}
        - {{get_attr: [inner, given]}}
        - {{get_attr: [inner, resource.generated, key]}}
        - {{get_attr: [inner, address]}}
"""
    Leaky.fails = {"create"}

    def run() -> None:
        world.create(outer, parameters={"secret": HIDDEN}, files={"inner.yaml": NESTED})
        world.settle()

    lines = logged(run)
    shown = texts(world)
    inner = next(row for row in world.store.stacks.resources(stack_id(world)) if row.name == "inner")
    password = next(row for row in world.store.stacks.resources(inner.id) if row.name == "password")
    assert "cannot create: " in shown
    assert "10.11.12.13" in shown
    for marker in (HIDDEN, "generated-key-marker", str(password.reference_id)):
        assert marker not in shown
        assert marker not in lines


def test_a_refused_property_shows_no_sensitive_value(world: World) -> None:
    def refuse(properties: Mapping[str, Any]) -> None:
        raise PropertyError(("pin",), f"wrong: {properties['pin']}", veiled="wrong")

    original = Leaky.validate
    Leaky.validate = staticmethod(refuse)  # type: ignore[method-assign]
    try:
        with pytest.raises(IsothermError) as refused:
            world.create(TEMPLATE, parameters={"secret": HIDDEN})
    finally:
        Leaky.validate = original  # type: ignore[method-assign]
    assert "pin: wrong" in str(refused.value)
    assert LITERAL not in str(refused.value)


def test_a_signal_and_a_snapshot_that_is_deleted_tell_no_secret(world: World) -> None:
    world.create(TEMPLATE, parameters={"secret": HIDDEN})
    world.settle()
    world.snapshot("first")
    world.settle()
    Leaky.fails = {"delete snapshot"}
    lines = logged(lambda: world.delete_snapshot("first"))
    row = world.store.stacks.find("s", project="default")
    signals = Signals(world.store, world.checker._types, world.checker._settings)
    lines += logged(lambda: signals.send(row, "it", {}))
    shown = texts(world)
    assert "cannot delete snapshot: " in shown
    assert "open-value" in shown
    Leaky.fails = {"signal"}
    with pytest.raises(Conflict) as refused:
        signals.send(row, "it", {})
    assert_silent(world, shown)
    assert_silent(world, lines)
    assert_silent(world, str(refused.value))
