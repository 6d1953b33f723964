"""A stack acts by what its caller delegated to it: sealed, its own, replaced by updates, and revoked when unused."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from isotherm.testing.engine import Engine
from orchestrator.config.settings import Settings
from orchestrator.engine.delegation import delegated
from orchestrator.engine.revocation import LOOK_SECONDS, Revocation
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.model.messages import DeleteJob, ImportJob, StackJob, UpdateJob
from orchestrator.planning.preparation import prepare
from orchestrator.plugins.client_plugin import ClientContext, ClientPlugin
from orchestrator.plugins.clients import MOST_DELEGATED, Clients
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure
from orchestrator.store.installation.credentials import GRACE_SECONDS

TEXT = PropertyType.STRING


class Realm(ClientPlugin):
    """A system whose users are known by tokens, and which makes keys of them."""

    name = "realm"
    options_schema = {
        "key": Property(type=TEXT, default="operator", sensitive=True),
    }
    #: The keys there are, and whose they are.
    keys: ClassVar[dict[str, str]] = {}
    closed: ClassVar[list[str]] = []
    away: ClassVar[bool] = False

    def look_up(self, entity: str, name: str) -> str:
        raise NotFound(name)

    def delegate(self, token: str, name: str) -> Mapping[str, Any]:
        if token == "expired":  # a word
            raise PermissionError("the token has expired")
        self.keys[name] = token
        return {"key": name}

    def revoke(self) -> None:
        if Realm.away:
            raise ConnectionError("it does not answer")
        self.keys.pop(self.options["key"], None)

    def close(self) -> None:
        self.closed.append(self.options["key"])


class Thing(Resource):
    """An object in the realm, which belongs to the user of the client's key."""

    acts_by = "realm"
    properties_schema = {"size": Property(type=TEXT, update_allowed=True)}
    made: ClassVar[list[str]] = []

    def handle_create(self) -> None:
        self._act()

    def handle_update(self, changes: PropertyChanges) -> None:
        self._act()

    def handle_delete(self) -> None:
        self._act()

    def _act(self) -> None:
        key = self.client("realm").options["key"]
        if key not in Realm.keys:
            raise ResourceFailure(f"{key} is nobody's")
        self.made.append(Realm.keys[key])


TEMPLATE = """
heat_template_version: 2021-04-16
parameters: {size: {type: string, default: small}}
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 1, resource_def: {type: T::Thing, properties: {size: {get_param: size}}}}
"""
PLAIN = "heat_template_version: 2021-04-16\nresources:\n  a: {type: OS::Heat::None}\n"


class Installation:
    def __init__(self) -> None:
        self.engine = Engine({"T::Thing": Thing}, clients={"realm": Realm})
        self.types = {**ResourceTypes.load(), "T::Thing": Thing}
        self.clock = 0.0
        self.revocation = Revocation(self.engine.store, self.engine.clients, clock=lambda: self.clock)

    def run(self, job: StackJob, token: str) -> None:
        """Carry a job out as the service does for a caller with a token."""
        store, clients = self.engine.store, self.engine.clients
        prepared = prepare(job, self.types, self.engine.settings)
        with delegated(job, token, prepared, types=self.types, clients=clients, store=store) as ready:
            self.engine.run(ready)

    def look(self) -> None:
        self.clock += LOOK_SECONDS
        self.revocation.go_on()


@pytest.fixture
def installation() -> Iterator[Installation]:
    Realm.keys, Realm.away, Thing.made = {"operator": "the operator"}, False, []
    installation = Installation()
    yield installation
    installation.engine.close()


def test_stack_acts_for_its_caller_and_updates_bring_new_credentials(installation: Installation) -> None:
    installation.run(StackJob(name="s", template=TEMPLATE), "ann")
    assert Thing.made == ["ann"]
    # However old it is, the only credential of a stack is no candidate: none of many stacks costs a look anything.
    installation.engine.now += GRACE_SECONDS + 1
    assert installation.engine.store.credentials.perhaps_unused() == []
    installation.look()
    assert sorted(Realm.keys.values()) == ["ann", "the operator"]
    update = UpdateJob(name="s", template=TEMPLATE, parameters={"size": "large"})
    installation.run(update, "bob")
    assert Thing.made == ["ann", "bob"]
    installation.look()
    assert sorted(Realm.keys.values()) == ["bob", "the operator"]
    # An update that brings none goes on with the present one, and so does the deletion.
    installation.engine.run(UpdateJob(name="s", template=TEMPLATE))
    installation.engine.run(DeleteJob(name="s"))
    assert Thing.made == ["ann", "bob", "bob", "bob"]
    Realm.away = True
    installation.look()
    assert "bob" in Realm.keys.values()
    Realm.away = False
    installation.look()
    assert list(Realm.keys) == ["operator"]
    assert installation.engine.store.credentials.perhaps_unused() == []


def test_a_stack_that_takes_an_object_in_acts_for_who_imported_it(installation: Installation) -> None:
    installation.run(StackJob(name="s", template=PLAIN), "ann")
    taken = f"{PLAIN}  b: {{type: T::Thing}}\n"
    installation.run(ImportJob(name="s", template=taken, resources={"b": {"resource_id": "x"}}), "bob")
    assert Thing.made == []
    installation.engine.run(DeleteJob(name="s"))
    assert Thing.made == ["bob"]


def test_nothing_is_delegated_to_a_stack_that_does_not_act_there(installation: Installation) -> None:
    installation.run(StackJob(name="s", template=PLAIN), "ann")
    assert list(Realm.keys) == ["operator"]


def test_what_was_delegated_in_vain_is_revoked_soon(installation: Installation) -> None:
    installation.run(StackJob(name="s", template=TEMPLATE), "ann")
    with pytest.raises(Conflict):
        installation.run(StackJob(name="s", template=TEMPLATE), "bob")
    installation.look()
    # The job had bound it to a stack that was never made: that is known after a while only.
    assert "ann" in Realm.keys.values()
    installation.engine.now += GRACE_SECONDS + 1
    installation.look()
    assert sorted(Realm.keys.values()) == ["ann", "the operator"]


def test_a_refused_token_is_said_before_anything_begins(installation: Installation) -> None:
    with pytest.raises(InvalidInput) as refused:
        installation.run(StackJob(name="s", template=TEMPLATE), "expired")
    assert "the stack cannot act for you: PermissionError: the token has expired" in str(refused.value)


def test_a_credential_is_one_stacks_and_one_projects(installation: Installation) -> None:
    credentials = installation.engine.store.credentials
    credentials.add("c", project="p", client="realm", options={"key": "k"})
    with pytest.raises(NotFound):
        credentials.options("c", project="q")
    with pytest.raises(Conflict):
        credentials.bind("c", project="q", stack_id="1")
    credentials.bind("c", project="p", stack_id="1")
    credentials.bind("c", project="p", stack_id="1")
    with pytest.raises(Conflict):
        credentials.bind("c", project="p", stack_id="2")


def test_a_process_keeps_the_clients_of_few_credentials(tmp_path: Path) -> None:
    Realm.closed = []
    asked = []

    def options(project: str, credential: str) -> tuple[str, Mapping[str, Any]]:
        asked.append(credential)
        return "realm", {"key": credential}

    clients = Clients(Settings(state_directory=tmp_path), {"realm": Realm}, delegated=options)
    for number in range(MOST_DELEGATED + 2):
        clients.of("p", f"c{number}").get("realm")
        # Those of the settings, and one that is used all the time, stay.
        clients.of("p").get("realm")
        clients.of("p", "c0").get("realm")
    assert Realm.closed == ["c1", "c2"]
    assert asked.count("c0") == 1
    assert clients.of("p", "c5").get("realm").context == ClientContext("p", None, "c5")
