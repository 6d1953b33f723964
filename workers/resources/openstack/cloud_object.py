"""Base of the resource types of OpenStack: an object of a service, made, read, changed and deleted over its API."""

from collections.abc import Collection as Names
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from orchestrator.errors import PluginMistake
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import Busy, CannotTell, PropertyChanges, ResourceFailure, Wait
from workers.clients.openstack import OpenStack
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.comparing import as_given
from workers.resources.openstack.listing import read_together
from workers.resources.openstack.tokens import physical_name, token_of, with_token, without_token

#: How long to wait before an object is read again that is not ready, or not gone.
LOOK_SECONDS: Final = 1.0
#: The value of a property that the service does not show.
UNSEEN: Final = object()


class CloudObject(Resource):
    """One object of a service.

    A subclass names the client plugin and the collection, and declares its schemas with the names of the service's API:
    a property is sent under its own name, unless :attr:`sent_as` has another, and an attribute is read under its own.
    What is special is overridden: :meth:`values` (the body of a create or an update), :meth:`found` (the look-up after
    a crash), :meth:`seen` (the value of a property as the service has it).
    """

    acts_by = "openstack"
    #: The client plugin of the service: ``neutron``, ``nova``, ``cinder``, ``glance`` or ``keystone``.
    client_name: ClassVar[str]
    #: The collection of its objects; types that stand for what is in none, such as an attachment, do not have it.
    collection: ClassVar[Collection]
    #: The kind of entity under which constraints look it up; empty: none does.
    entity: ClassVar[str] = ""
    #: The property names that the API calls otherwise; empty: not sent.
    sent_as: ClassVar[Mapping[str, str]] = {}
    #: The attribute names that the API calls otherwise.
    shown_as: ClassVar[Mapping[str, str]] = {}
    #: Whether the service keeps a description, which then has the token.
    has_description: ClassVar[bool] = True
    #: The longest name.
    longest_name: ClassVar[int] = 255
    #: The statuses, in lower case, in which it is not ready yet, and those in which it never will be.
    busy_statuses: ClassVar[frozenset[str]] = frozenset({"build", "pending_create", "pending_update"})
    failed_statuses: ClassVar[frozenset[str]] = frozenset({"error"})
    #: The query of a list of all objects of the collection, where no cloud has many; None: there may be many.
    whole_list: ClassVar[Mapping[str, Any] | None] = None
    #: By property, what the service must have for it, as an extension's alias; "": for the type as a whole.
    extensions: ClassVar[Mapping[str, str]] = {}
    #: By property, the first microversion that has it; "": for the type as a whole.
    microversions: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        #: The object as read in this step; None: not read yet.
        self._shown: tuple[dict[str, Any] | None] | None = None
        #: Objects of the collection by id, as an observation has listed them.
        self._listed: Mapping[str, dict[str, Any]] = {}

    # -- validating --------------------------------------------------------------------------------------------

    @classmethod
    def unsupported(cls, given: Mapping[str, Any], clients: NamedClients) -> Iterator[PropertyError]:
        """Yield an error for each given property that needs an extension or microversion which is missing."""
        client: Any = clients.get(cls.client_name)
        for name, alias in _needed(cls.extensions, given):
            if alias not in client.extensions():
                yield _missing(name, f"the service ({cls.client_name}) has no extension {alias!r}")
        for name, version in _needed(cls.microversions, given):
            if _numbers(client.api_version) < _numbers(version):
                yield _missing(
                    name,
                    f"the service ({cls.client_name}) has version {client.api_version}, before {version}",
                )

    # -- the service -------------------------------------------------------------------------------------------

    @property
    def service(self) -> OpenStack:
        """The client of the service."""
        return self.openstack(self.client_name)

    def openstack(self, name: str) -> OpenStack:
        """Return the client of another service of the same cloud.

        Raises:
            PluginMistake: the client plugin of this name is none of OpenStack.
        """
        client = self.client(name)
        if not isinstance(client, OpenStack):
            raise PluginMistake(
                f"client plugin {name!r} is a {type(client).__name__}, which {self.type_name} cannot use"
            )
        return client

    def show(self) -> dict[str, Any] | None:
        """Return the object as the service shows it, read once per step; None if it does not exist."""
        if self._shown is None:
            object_id = self.state.physical_id
            self._shown = (self.read(object_id) if object_id else None,)
        return self._shown[0]

    def read(self, object_id: str) -> dict[str, Any] | None:
        """Return an object of the collection, as the service shows it now; None if it does not exist."""
        listed = self._listed.get(object_id)
        return listed or self.collection.show(self.service, object_id, **self.query)

    @property
    def query(self) -> Mapping[str, Any]:
        """What requests for the object have besides its id."""
        return {}

    def changed(self, shown: dict[str, Any] | None = None) -> None:
        """Note that the object is not as read before; ``shown`` is how it is now, if that is known."""
        self._shown = None if shown is None else (shown,)
        if self.entity:
            looked_up_by = self.client("openstack")
            for name in {self.state.physical_id, self.properties.get("name")} - {None, ""}:
                looked_up_by.forget(self.entity, str(name))

    @property
    def physical_name(self) -> str:
        """The name that is given, or a unique one."""
        return self.properties.get("name") or self.unique_name

    @property
    def unique_name(self) -> str:
        """The name of an object for which the template gives none."""
        return physical_name(self.stack.name, self.name, self.state.uuid, longest=self.longest_name)

    # -- the body of requests ----------------------------------------------------------------------------------

    def values(self, names: Names[str]) -> dict[str, Any]:
        """Return those of the named properties that are given, as the body of a request."""
        body: dict[str, Any] = {}
        for name in sorted(self.properties_schema.keys() & set(names)):
            sent = self.sent_as.get(name, name)
            if sent and self.properties[name] is not None:
                body[sent] = self.properties[name]
        if "name" in names and "name" in self.properties_schema:
            body["name"] = self.physical_name
        if self.has_description and (self.state.physical_id is None or "description" in names):
            body["description"] = with_token(self.properties.get("description"), self.state.uuid)
        return body

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the body of an update: what differs from what the service has, and null for what is taken away."""
        gone = {
            name
            for name in changes.names & self.properties_schema.keys()
            if self._is_taken_away(name, changes)
        }
        sent = {self.sent_as.get(name, name) for name in gone} - {""}
        return {**dict.fromkeys(sorted(sent)), **self.values(changes.names & self._different())}

    @staticmethod
    def _is_taken_away(name: str, changes: PropertyChanges) -> bool:
        return changes.after.get(name) is None and changes.before.get(name) is not None

    def _different(self) -> frozenset[str]:
        """Return the names of properties that the service has otherwise, or does not show.

        After an interrupted update, all may differ: some may be changed by administrators only, and need no change.
        """
        observed = self.observe()
        if not isinstance(observed, Mapping):
            return frozenset(self.properties)
        return frozenset(
            name
            for name in self.properties
            if name not in observed or observed[name] != self.properties[name]
        )

    # -- creating ----------------------------------------------------------------------------------------------

    def handle_create(self) -> Any:
        """Create the object, and record its id."""
        made = self.collection.create(self.service, self.values(self.properties_schema.keys()))
        self.state.physical_id = str(made["id"])
        self.changed(made)
        return None

    def check_create_complete(self, token: Any) -> bool | Wait:  # noqa: ARG002 (the contract's signature)
        """Return whether it can be used."""
        return self.is_ready()

    def find(self) -> str | None:
        """Return the id of what an interrupted create of this row has made, by the token."""
        if self.state.physical_id is not None:
            return self.state.physical_id
        found = self.found()
        return str(found["id"]) if found else None

    def found(self) -> dict[str, Any] | None:
        """Return the object of this row, among those of its name."""
        named = self.collection.listed(self.service, name=self.physical_name)
        return next((each for each in named if token_of(each.get("description")) == self.state.uuid), None)

    def is_ready(self) -> bool | Wait:
        """Return whether the object is ready, by its status.

        Raises:
            ResourceFailure: it will never be.
        """
        shown = self.show()
        if shown is None:
            raise ResourceFailure("it was made, and is gone")
        status = str(shown.get("status") or "").lower()
        if status in self.failed_statuses:
            raise ResourceFailure(self.failure(shown))
        return Wait(LOOK_SECONDS) if status in self.busy_statuses else True

    def failure(self, shown: Mapping[str, Any]) -> str:
        """Return why a failed object failed, as a sentence."""
        return f"its status is {shown.get('status')}"

    # -- updating ----------------------------------------------------------------------------------------------

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Change what can be changed by one request."""
        self.change(self.changed_values(changes))

    def check_update_complete(self, token: Any) -> bool | Wait:  # noqa: ARG002 (the contract's signature)
        """Return whether it can be used again."""
        return self.is_ready()

    def change(self, body: Mapping[str, Any]) -> None:
        """Send a change, if there is any."""
        if body:
            self.changed(self.collection.change(self.service, str(self.state.physical_id), body))

    def needs_replace_failed(self) -> bool:
        """Return whether it was never made, is gone, or failed for good."""
        shown = self.show()
        return shown is None or str(shown.get("status") or "").lower() in self.failed_statuses

    # -- deleting ----------------------------------------------------------------------------------------------

    def handle_delete(self) -> bool:
        """Begin to delete the object; return whether it was there.

        Raises:
            Busy: it is in use.
        """
        if self.state.physical_id is None:
            return False
        try:
            was_there = self.collection.delete(self.service, self.state.physical_id, **self.query)
        except Exception as error:
            if self.service.is_conflict(error):
                raise Busy(f"it cannot be deleted yet: {error}") from error
            raise
        self.changed()
        return was_there

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Return whether it is gone."""
        self._shown = None
        if not token or self.show() is None:
            return True
        return Wait(LOOK_SECONDS)

    # -- reading -----------------------------------------------------------------------------------------------

    def observe(self) -> Mapping[str, Any] | CannotTell | None:
        """Return the given properties, as the service has them."""
        shown = self.show()
        if shown is None:
            return None
        values = {
            name: self.seen(name, shown) for name, value in self.properties.items() if value is not None
        }
        return {
            name: as_given(self.properties[name], value) for name, value in values.items() if value != UNSEEN
        }

    def describe(self) -> Mapping[str, Any] | CannotTell | None:
        """Return the properties that the service shows under their own names, and those given."""
        shown, observed = self.show(), self.observe()
        if shown is None or not isinstance(observed, Mapping):
            return None
        described = {name: shown.get(self.sent_as.get(name, name)) for name in self.properties_schema}
        if "description" in described and self.has_description:
            described["description"] = without_token(described["description"]) or None
        return {**described, **observed}

    @classmethod
    def observe_all(
        cls, resources: Sequence[Resource]
    ) -> Sequence[Mapping[str, Any] | CannotTell | Exception | None]:
        """Return what :meth:`observe` returns of each, or its exception; their objects are read by lists."""
        clouded = [each for each in resources if isinstance(each, CloudObject)]
        failed = read_together(clouded)
        rest = iter(super().observe_all([each for each in resources if each not in failed]))
        return [failed[each] if each in failed else next(rest) for each in clouded]

    @property
    def object_id(self) -> str:
        """The id of the object in the collection that is read of this resource; empty if there is none."""
        return self.state.physical_id or ""

    @classmethod
    def list_query(cls, resources: Sequence["CloudObject"]) -> Mapping[str, Any] | None:  # noqa: ARG003
        """Return the query of one list that has the objects of these resources, or most of them.

        None: there is none, or it may be long, and each object is read by itself.
        """
        return cls.whole_list

    @classmethod
    def list_further(cls, resources: Sequence["CloudObject"]) -> None:
        """List whatever else the observation of these resources reads; by default nothing."""

    def has_listed(self, listed: Mapping[str, dict[str, Any]]) -> None:
        """Take objects of the collection, by id, from a list just read, which may lack the object."""
        self._listed = listed

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it; ``UNSEEN`` if that cannot be seen."""
        sent = self.sent_as.get(name, name)
        if name == "description" and self.has_description:
            given, found = self.properties[name], shown.get(name)
            return given if found == with_token(given, self.state.uuid) else without_token(found)
        return shown[sent] if sent and sent in shown else UNSEEN

    def whole(self) -> dict[str, Any]:
        """Return the object as the service shows it.

        Raises:
            ResourceFailure: it is gone.
        """
        if (shown := self.show()) is None:
            raise ResourceFailure("it does not exist any more")
        return shown

    def attribute(self, name: str) -> Any:
        """Return an attribute of the object, read from the service.

        Raises:
            ResourceFailure: it is gone.
        """
        shown = self.whole()
        value = shown.get(self.shown_as.get(name, name))
        return without_token(value) if name == "description" and self.has_description else value


def _needed(needs: Mapping[str, str], given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    return ((name, what) for name, what in needs.items() if not name or given.get(name) is not None)


def _missing(name: str, found: str) -> PropertyError:
    what = f"the property {name!r}" if name else "the type"
    return PropertyError((name,) if name else (), f"{what} is not supported here: {found}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
