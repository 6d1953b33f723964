"""The contract of a resource type: declare schemas, implement ``handle_<action>`` and ``check_<action>_complete``.

The engine calls one step at a time, in any process on any machine, and writes down what the step left behind
before the next: nothing may be kept in memory between two steps. A step that died half-way is run again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final

from hooks.loading.overrides import override_mistakes
from hooks.values.frozen import FrozenDict
from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.errors import PluginMistake
from orchestrator.plugins.asks import Asks
from orchestrator.plugins.clients import ClientPlugin, Clients, ProjectClients
from orchestrator.plugins.group_declarations import properties_groups
from orchestrator.plugins.groups import PropertiesGroup
from orchestrator.plugins.mistakes import (
    attribute_mistakes,
    property_mistakes,
    refuse_mistakes,
)
from orchestrator.plugins.properties import Attribute, Property, convert_properties
from orchestrator.plugins.support import SUPPORTED, SupportStatus
from orchestrator.plugins.translation import Rule, rule_mistakes


class CannotTell(Enum):
    """The type of :data:`CANNOT_TELL`."""

    CANNOT_TELL = "nobody looked"


#: What :meth:`Resource.observe` answers where it does not know; None would say that the object is gone.
CANNOT_TELL: Final = CannotTell.CANNOT_TELL


class _Kept(Enum):
    KEPT = "the token stays as it is"


@dataclass(frozen=True, slots=True)
class Wait:
    """A step's answer "not finished": look again after ``seconds``, or earlier when woken (a signal came)."""

    seconds: float
    #: What to go on with, where an action has several parts; as it is, that with which it went on so far.
    token: Any = _Kept.KEPT

    def next_token(self, token: Any) -> Any:
        """Return the token to go on with, where it was ``token`` so far."""
        return token if self.token is _Kept.KEPT else self.token


class ResourceFailure(Exception):
    """What a plugin raises when the action has failed for good; the text becomes the resource's reason.

    Reasons are stored and shown as they are: no text of an exception holds a secret.
    """


class RetryableFailure(ResourceFailure):
    """What a plugin raises when doing the same again may help: it is tried again, later each time."""


class NothingDone(RetryableFailure):
    """What a plugin raises when doing the same again may help, and certainly nothing came of this try.

    Raised by :meth:`Resource.handle_create`, it spares the next try the question of :meth:`Resource.find`.
    """


@dataclass(slots=True, kw_only=True)
class ResourceState:
    """What the row remembers of a resource between two steps; a plugin changes it, the engine stores it."""

    uuid: str
    #: The id in the outside world; a plugin sets it as soon as it is known.
    physical_id: str | None = None
    #: The node that it is on; a plugin sets it before it makes anything there.
    on_node: str | None = None
    #: Private facts a plugin keeps (encrypted where a key is configured); plain types only.
    data: dict[str, Any] = field(default_factory=dict)
    #: From the template at first, then changed by signals.
    metadata: dict[str, Any] = field(default_factory=dict)
    action: str = "INIT"
    status: str = "COMPLETE"
    #: Seconds since the epoch, by the database's clock: when the action under way was first claimed.
    started_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyChanges:
    """What an update changes: property name -> value before, value after (None where it is not given)."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def names(self) -> frozenset[str]:
        """The properties whose value differs."""
        names = {*self.before, *self.after}
        return frozenset(name for name in names if self.before.get(name) != self.after.get(name))


class Resource:
    """Base of every resource type; each method says what it promises, and does nothing by default.

    ``handle_<action>`` starts the action and returns a *token*: plain types (None, text, numbers, lists, maps)
    that are stored and given to ``check_<action>_complete``, which answers True when the action is complete, or
    a :class:`Wait`. Both raise :class:`ResourceFailure` (or any exception) when the action has failed.
    """

    #: One sentence for people, shown by ``isotherm resource-type show``.
    description: ClassVar[str] = ""
    #: How far the type can be relied on.
    support_status: ClassVar[SupportStatus] = SUPPORTED
    #: A HOT template that shows the type in use, for the documentation; without one, the least that will do is made up.
    #: It names no files, and is shown only if it is valid and has a resource of this type.
    example: ClassVar[str] = ""
    properties_schema: ClassVar[Mapping[str, Property]] = {}
    #: Which properties go together, in the form that :mod:`orchestrator.plugins.group_declarations` reads and
    #: docs/properties-groups.md explains. Checked against the properties when the class is defined.
    properties_groups_schema: ClassVar[Sequence[Mapping[Any, Any]]] = ()
    #: The same as it was read.
    properties_groups: ClassVar[tuple[PropertiesGroup, ...]] = ()
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {}
    #: What templates may say under ``update_policy``; nothing, unless a type says otherwise.
    update_policy_schema: ClassVar[Mapping[str, Property]] = {}
    #: Any property and any attribute name is accepted (``OS::Heat::None``).
    accepts_anything: ClassVar[bool] = False
    #: Raise when the meaning of stored state changes, so that an update visits resources made by older code.
    type_version: ClassVar[int] = 1
    #: Whether what is under way for one definition need not be ended before the resource is given another: see
    #: :meth:`is_outdated`.
    supersedes: ClassVar[bool] = False
    #: Whether an update that changes no property is carried out all the same.
    always_updates: ClassVar[bool] = False
    #: Whether every update puts another in its place, whatever else it changes; a rollback does not.
    renewed_by_updates: ClassVar[bool] = False
    #: The name of the property that refers to another resource whose *current* metadata this one reads (a wait
    #: condition reads its handle's signals); see :attr:`watched_metadata`.
    watches: ClassVar[str | None] = None
    #: The names of attributes that this type asks, by itself, of the resources that its properties refer to, as far as
    #: those have them (a message asks configs for their text, where the template gives it only their ids):
    #: ``self.stack.resource(NAME).attributes()`` has them.
    reads: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Hold a type to its contract, and its schemas to what they promise each other, as soon as its class is there.

        Raises:
            PluginMistake: with everything that is wrong.
        """
        super().__init_subclass__(**kwargs)
        owner = f"{cls.__module__}:{cls.__qualname__}"
        refuse_mistakes(
            owner,
            [
                *override_mistakes(cls, Resource),
                *property_mistakes(cls.properties_schema, "properties_schema"),
                *property_mistakes(cls.update_policy_schema, "update_policy_schema"),
                *attribute_mistakes(cls.attributes_schema, "attributes_schema"),
            ],
        )
        refuse_mistakes(owner, cls._translation_mistakes())
        try:
            cls.properties_groups = properties_groups(
                cls.properties_groups_schema, cls.properties_schema, accepts_anything=cls.accepts_anything
            )
        except PluginMistake as error:
            refuse_mistakes(owner, [str(error)])

    @classmethod
    def _translation_mistakes(cls) -> Iterator[str]:
        """Yield what is wrong with the rules that hold where nothing is given."""
        try:
            nothing = convert_properties(cls.properties_schema, {}, constraints=False)
            yield from rule_mistakes(cls.properties_schema, cls.translation_rules(nothing))
        except Exception as error:  # noqa: BLE001 (the boundary to other people's code)
            yield f"translation_rules fails where no property is given: {type(error).__name__}: {error}"

    def __init__(
        self,
        *,
        name: str,
        type_name: str,
        state: ResourceState,
        properties: Mapping[str, Any],
        stack: StackDefinition,
        settings: Settings,
        now: float,
        watched_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.type_name = type_name
        self.state = state
        #: Resolved, converted, defaults filled in: every name of the schema is a key.
        self.properties = properties
        self.stack = stack
        self.settings = settings
        #: Seconds since the epoch, by the database's clock, when this step was claimed.
        self.now = now
        #: The clients of other systems, as the stack's project has them; set by the engine.
        self.clients: ProjectClients = Clients(settings).of(stack.project)
        #: What lifecycle plugins said of the resource as the operation began, by the plugin's name; set by the engine,
        #: and read from the store when it is first looked at. Nobody can change it.
        self.annotations: Mapping[str, Mapping[str, Any]] = FrozenDict()
        #: What the template says under ``update_policy``, by that schema; set by the engine, empty in a deletion.
        self.update_policy: Mapping[str, Any] = {}
        #: The metadata, as it is now, of the resource that :attr:`watches` points at.
        self.watched_metadata: Mapping[str, Any] = watched_metadata or {}

    def client(self, name: str) -> ClientPlugin:
        """Return the client plugin called ``name``.

        Raises:
            NotFound: there is no such client plugin.
            ClientMisconfigured: it cannot be built from the settings.
        """
        return self.clients.get(name)

    # -- creating ----------------------------------------------------------------------------------------------

    def handle_create(self) -> Any:
        """Begin to make the object; set ``self.state.physical_id`` once it is known; return a token."""

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Tell whether the object is ready."""
        return True

    def find(self) -> str | None:
        """Return the physical id of what an interrupted create of *this* row may have made, or None.

        Asked before ``handle_create`` whenever an earlier attempt may have got anywhere; ``self.state.uuid`` is the
        idempotency token to look for. When an id is returned, it is stored, and ``handle_create`` is not called:
        :meth:`check_create_complete` is, with the token that :meth:`resume_create` returns.
        """

    def resume_create(self) -> Any:
        """Return the token with which to go on after :meth:`find` found the object of an interrupted create."""

    # -- adopting ----------------------------------------------------------------------------------------------

    def handle_adopt(self) -> Any:
        """Take over the object ``self.state.physical_id``, which somebody else has made and :meth:`observe` has seen.

        ``self.state.data`` and ``self.state.metadata`` are what the adopt file says; the properties are the template's.
        Nothing of the object is changed. Return a token. May run more than once.
        """

    def check_adopt_complete(self, token: Any) -> bool | Wait:
        """Tell whether the object is taken over."""
        return True

    # -- updating ----------------------------------------------------------------------------------------------

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Tell whether these changes need a new object even though each property may be updated in place."""
        return False

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Begin to change the object in place to ``self.properties``; return a token."""

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Tell whether the change is complete."""
        return True

    def is_outdated(self, token: Any) -> bool:
        """Tell whether the action that goes on with ``token`` was begun for another definition than the present one.

        Asked of types that supersede: their action is then begun anew.
        """
        return False

    def needs_replace_failed(self) -> bool:
        """Tell whether another object must take the place of this one, which failed; else it is changed in place."""
        return True

    # -- deleting ----------------------------------------------------------------------------------------------

    def handle_delete(self) -> Any:
        """Begin to delete the object; one that is already gone is no error; return a token.

        ``self.properties`` are those last applied. ``self.state.physical_id`` may be None: an interrupted or
        failed create may have made something all the same, which :meth:`find` (asked before) did not see.
        """

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Tell whether the object is gone."""
        return True

    def handle_retain(self) -> None:
        """Let go of an object that stays in the world when its resource goes."""

    # -- as it is ----------------------------------------------------------------------------------------------

    # ``self.properties`` are those last applied. Nothing but ``self.state`` is written down of what these leave behind.

    def handle_check(self) -> Any:
        """Begin to look whether the object is in order, beyond what :meth:`observe` tells; return a token.

        Raises:
            ResourceFailure: it is not; the text says what is wrong.
        """

    def check_check_complete(self, token: Any) -> bool | Wait:
        """Tell whether the look is over; what :meth:`observe` then finds is compared with the properties."""
        return True

    def handle_suspend(self) -> Any:
        """Begin to bring the object to rest, so that it can be resumed; one at rest is no error; return a token.

        Changes and deletions may come while it is at rest: a deletion must then do, and before a change it is resumed.
        """

    def check_suspend_complete(self, token: Any) -> bool | Wait:
        """Tell whether the object is at rest."""
        return True

    def handle_resume(self) -> Any:
        """Begin to bring the object back from rest; one that never was suspended in the end is no error."""

    def check_resume_complete(self, token: Any) -> bool | Wait:
        """Tell whether the object is back."""
        return True

    def handle_snapshot(self) -> Any:
        """Begin to take a snapshot of the object; return a token.

        The token with which it is complete is the *entry* that the snapshot keeps of this resource, and that
        :meth:`handle_restore` and :meth:`handle_delete_snapshot` are given, also when the object is gone; None keeps
        nothing, and neither of them is called.
        """

    def check_snapshot_complete(self, token: Any) -> bool | Wait:
        """Tell whether the snapshot is there."""
        return True

    def handle_restore(self, entry: Any) -> Any:
        """Begin to bring the object back to a snapshot; return a token. Doing it again does no harm.

        The object, which may be another one than that of the snapshot, is what the snapshot's definition says already.
        """

    def check_restore_complete(self, token: Any) -> bool | Wait:
        """Tell whether the object is back."""
        return True

    def handle_delete_snapshot(self, entry: Any) -> None:
        """Delete what was made for a snapshot, whose resource may be gone; what is gone already is no error.

        The entry of a snapshot that never was complete is the last token there was.

        Runs where the coordinator does, with whatever is known of the resource in ``self.state``, which is not stored.
        """

    # -- telling -----------------------------------------------------------------------------------------------

    def reference_id(self) -> str | None:
        """What ``{get_resource: name}`` resolves to; the physical id unless a type says otherwise."""
        return self.state.physical_id

    def attribute(self, name: str) -> Any:
        """Return the attribute ``name`` (one of the schema's) as it is now: plain types, None if unknown.

        What it raises fails those who need the attribute, not this resource, unless another try may help.
        """

    def observe(self) -> Mapping[str, Any] | CannotTell | None:
        """Return the properties as they really are in the world, or None if the object does not exist.

        A property that is not among them is one that nobody can see; a check compares the others with
        ``self.properties``. ``CANNOT_TELL``, unless a type says otherwise: it does not look.
        """
        return CANNOT_TELL

    # -- being told --------------------------------------------------------------------------------------------

    def handle_signal(self, details: Mapping[str, Any]) -> str:
        """Take a signal: change ``self.state.metadata`` and return a sentence for the event history.

        May run more than once for one signal, and while another step of this resource runs: it only reads what it
        is given, and changes nothing but the metadata.

        Raises:
            ResourceFailure: the signal is refused; nothing is stored.
        """
        raise ResourceFailure(f"resources of type {self.type_name} take no signals")

    # -- being placed ------------------------------------------------------------------------------------------

    @classmethod
    def asks_of_node(cls, properties: Mapping[str, Any]) -> Asks | None:
        """Return what a resource with these properties asks of the node it is to be on; None: it is on none.

        What is not known yet is ``UNKNOWN``, and nothing is converted yet.
        """
        return None

    # -- validating --------------------------------------------------------------------------------------------

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
        """Return the old names of properties, and names that stand for ids; :mod:`orchestrator.plugins.translation`.

        ``properties`` have their types; nothing is translated yet, and what is not known is ``UNKNOWN``.
        """
        return ()

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check what the schemas cannot say; values not known yet are ``UNKNOWN``.

        Asked when the whole stack is examined, and again just before an action begins, when all is known.

        Raises:
            PropertyError: with the path of the property at fault.
        """

    @classmethod
    def validate_written(cls, properties: Mapping[str, Any]) -> None:
        """Check what nobody may write in a template, although it may be what a reference in it comes to.

        Asked when the whole stack is examined, after :meth:`validate`; what references come to is ``UNKNOWN`` then.

        Raises:
            PropertyError: with the path of the property at fault.
        """

    @classmethod
    def is_retryable(cls, error: Exception) -> bool:
        """Tell whether an exception other than :class:`ResourceFailure` is worth another try.

        What a client of this resource calls retryable is tried again in any case.
        """
        return False
