"""Contract of a resource type: declare schemas, implement ``handle_<action>`` and ``check_<action>_complete``.

The engine calls one step at a time, in any process on any machine, and stores the resource's state before the next:
nothing may be kept in memory between two steps. An interrupted step is run again.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from hooks.values.frozen import FrozenDict
from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.errors import NotFound
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.client_plugin import ClientMisconfigured, ClientPlugin
from orchestrator.plugins.groups import PropertiesGroup
from orchestrator.plugins.machine_requirements import MachineRequirements
from orchestrator.plugins.outputs import StackOutputs, no_outputs
from orchestrator.plugins.properties import Attribute, Property, PropertyError
from orchestrator.plugins.resource_declarations import checked_groups
from orchestrator.plugins.siblings import Sibling, Siblings
from orchestrator.plugins.software import Software, no_software
from orchestrator.plugins.steps import (
    CANNOT_TELL,
    CannotTell,
    PropertyChanges,
    ResourceFailure,
    ResourceState,
    Wait,
)
from orchestrator.plugins.support import SUPPORTED, SupportStatus
from orchestrator.plugins.translation import Rule

if TYPE_CHECKING:
    from orchestrator.plugins.clients import ProjectClients


class Resource:
    """Base of every resource type; methods do nothing by default.

    ``handle_<action>`` starts the action and returns a *token*: plain types (None, text, numbers, lists, maps)
    that are stored and given to ``check_<action>_complete``, which returns True when the action is complete, or
    a :class:`Wait`. These methods, and :meth:`prepare_for_replace`, raise :class:`ResourceFailure` (or any exception)
    when the action has failed; its message is the resource's reason.
    """

    #: One sentence for users, shown by ``isotherm resource-type show``.
    description: ClassVar[str] = ""
    #: Whether the type is supported, deprecated, unsupported or hidden.
    support_status: ClassVar[SupportStatus] = SUPPORTED
    #: A HOT template that shows the type in use, for the documentation; without one, a minimal template is generated.
    #: It refers to no files, and is shown only if it is valid and has a resource of this type.
    example: ClassVar[str] = ""
    properties_schema: ClassVar[Mapping[str, Property]] = {}
    #: Rules on which properties may be given together, in the form that :mod:`orchestrator.plugins.group_declarations`
    #: reads and docs/properties-groups.md explains. Checked against the properties when the class is defined.
    properties_groups_schema: ClassVar[Sequence[Mapping[Any, Any]]] = ()
    #: The parsed groups.
    properties_groups: ClassVar[tuple[PropertiesGroup, ...]] = ()
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {}
    #: The schema of ``update_policy`` in templates; by default, it must be empty.
    update_policy_schema: ClassVar[Mapping[str, Property]] = {}
    #: Whether any property and any attribute name is accepted (``OS::Heat::None``).
    accepts_anything: ClassVar[bool] = False
    #: Whether attributes besides those of the schema may be read, whose names are known only where they are used.
    any_attribute: ClassVar[bool] = False
    #: Whether its actions wait for signals to it: a signal wakes the action, and is taken during every one of them.
    awaits_signals: ClassVar[bool] = False
    #: Increase when the meaning of stored state changes, so that an update visits resources created by older code.
    type_version: ClassVar[int] = 1
    #: Whether the resource can be given another definition while an action is in progress: see :meth:`is_outdated`.
    supersedes: ClassVar[bool] = False
    #: Whether its only object is its own row: an adopt file need not name one, as Heat's do not.
    is_row: ClassVar[bool] = False
    #: Whether an update that changes no property is carried out all the same.
    always_updates: ClassVar[bool] = False
    #: Whether every update replaces the resource, even without changes; a rollback does not.
    renewed_by_updates: ClassVar[bool] = False
    #: Whether its actions only compute what is recorded of the resource, from its properties and node data alone: they
    #: neither change nor wait for anything else, so that a result may be discarded and computed again. A worker then
    #: creates a chain of such resources in one transaction. Not inherited: a subclass may do more.
    pure: ClassVar[bool] = False
    #: The properties whose differences are no drift, because the other system changes them by itself.
    ignores_drift: ClassVar[frozenset[str]] = frozenset()
    #: The name of the property that refers to another resource whose *current* metadata this one reads (a wait
    #: condition reads its handle's signals); see :attr:`watched_metadata`.
    watches: ClassVar[str | None] = None
    #: The client plugin by which it acts in the caller's project of another system, with what the caller delegated to
    #: the stack (:meth:`orchestrator.plugins.client_plugin.ClientPlugin.delegate`); empty for none.
    acts_by: ClassVar[str] = ""
    #: The names of attributes that this type itself reads of the resources that its properties refer to, as far as they
    #: have them (a multipart message reads the texts of configs, where the template gives only their ids):
    #: ``self.stack.resource(NAME).attributes()`` returns them.
    reads: ClassVar[frozenset[str]] = frozenset()
    #: Whether its resources read outputs of other stacks (:attr:`outputs`): an update then visits those whose value is
    #: outdated.
    reads_outputs: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Check the contract, the schemas and the translation rules when the class is defined.

        Raises:
            PluginMistake: they have mistakes; with all of them.
        """
        super().__init_subclass__(**kwargs)
        cls.properties_groups = checked_groups(cls, Resource)
        cls.pure = bool(vars(cls).get("pure"))

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
        #: The name in the template under which it was made: a move does not change it, so names of objects may be made
        #: of it.
        self.name = name
        self.type_name = type_name
        self.state = state
        #: Resolved, converted, defaults filled in: every name of the schema is a key.
        self.properties = properties
        self.stack = stack
        self.settings = settings
        #: Seconds since the epoch, by the database's clock, when this step was claimed.
        self.now = now
        #: The annotations that lifecycle plugins returned at the beginning of the operation, by the plugin's name; set
        #: by the engine, read from the store when first needed, and immutable.
        self.annotations: Mapping[str, Mapping[str, Any]] = FrozenDict()
        #: The template's ``update_policy``, converted by its schema; set by the engine, empty in a deletion.
        self.update_policy: Mapping[str, Any] = {}
        #: Returns :attr:`software`; set by the engine.
        self.software_of: Callable[[], Software] = no_software
        #: Returns :attr:`outputs`; set by the engine.
        self.outputs_of: Callable[[], StackOutputs] = no_outputs
        #: Whether this step has had a client, and why it could not have the first.
        self._has_client = False
        self._without_client: Exception | None = None
        #: The current metadata of the resource that :attr:`watches` refers to.
        self.watched_metadata: Mapping[str, Any] = watched_metadata or {}

    @cached_property
    def clients(self) -> "ProjectClients":
        """The clients of other systems for the stack's project; set by the engine."""
        from orchestrator.plugins.clients import Clients

        return Clients(self.settings).of(self.stack.project)

    @classmethod
    def implements(cls, method: str) -> bool:
        """Return whether the type has a method of its own in the place of the base's; for the engine."""
        return inspect.getattr_static(cls, method) is not inspect.getattr_static(Resource, method)

    def client(self, name: str) -> ClientPlugin:
        """Return the client plugin called ``name``.

        A create that fails because it cannot have its first client, and has recorded no physical id, made nothing.

        Raises:
            NotFound: there is no such client plugin.
            ClientMisconfigured: it cannot be built from the settings.
        """
        try:
            client = self.clients.get(name)
        except (NotFound, ClientMisconfigured) as error:
            self._without_client = None if self._has_client else error
            raise
        self._has_client = True
        return client

    @property
    def software(self) -> Software:
        """The software configs and deployments of the stack's project, in an action.

        Raises:
            PluginMistake: there is no action.
        """
        return self.software_of()

    @property
    def outputs(self) -> StackOutputs:
        """The outputs of other stacks, in an action or an observation.

        Raises:
            PluginMistake: there is neither.
        """
        return self.outputs_of()

    def made_nothing(self, error: Exception) -> bool:
        """Return whether a failed step certainly had no effect, as it had no first client; for the engine."""
        return error is self._without_client and self.state.physical_id is None

    # -- creating ----------------------------------------------------------------------------------------------

    def handle_create(self) -> Any:
        """Begin to create the object; set ``self.state.physical_id`` once it is known; return a token."""

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Return whether the object is ready."""
        return True

    def find(self) -> str | None:
        """Return the physical id of the object that an interrupted create of *this* row may have created, or None.

        Called before ``handle_create`` if an earlier attempt may have had an effect; ``self.state.uuid`` is the
        idempotency token to look for. If an id is returned, it is stored, and ``handle_create`` is not called:
        :meth:`check_create_complete` is, with the token that :meth:`resume_create` returns.
        """

    def resume_create(self) -> Any:
        """Return the token to continue with after :meth:`find` found the object of an interrupted create."""

    # -- adopting ----------------------------------------------------------------------------------------------

    def handle_adopt(self) -> Any:
        """Adopt the existing object ``self.state.physical_id``, which :meth:`observe` has found; return a token.

        ``self.state.data`` and ``self.state.metadata`` come from the adopt file, the properties from the template. Must
        not change the object. May run more than once.
        """

    def check_adopt_complete(self, token: Any) -> bool | Wait:
        """Return whether the object is adopted."""
        return True

    # -- updating ----------------------------------------------------------------------------------------------

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Return whether these changes need a replacement even though each property may be updated in place.

        A dry run calls this too once all values are known, on a resource as it is on record; while they are not, and if
        this raises, it reports that the update may replace the resource, and why. Placement calls it with unknown
        values as they were.
        """
        return False

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Begin to update the object in place to ``self.properties``; return a token."""

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Return whether the update is complete."""
        return True

    def is_outdated(self, token: Any) -> bool:
        """Return whether the action with this token was begun for another definition than the present one.

        Called for types that supersede: an outdated action is begun again.
        """
        return False

    def needs_replace_failed(self) -> bool:
        """Return whether a failed resource must be replaced; otherwise it is updated in place.

        A dry run calls this too, as it does :meth:`needs_replace`.
        """
        return True

    # -- replacing ---------------------------------------------------------------------------------------------

    def prepare_for_replace(self) -> bool | Wait:
        """Give up what the object of another row needs in place of this one: a fixed address, a unique name.

        Called until it returns True, before the replacement is made; ``self.properties`` are those of the replacement.
        Also called on a replacement before the object that it replaced is taken back, which is then updated in place
        where :meth:`observe` finds it different. Must be idempotent; the object may be gone. To have ``self.state``
        stored before anything is given up, return ``Wait(0)`` first.
        """
        return True

    # -- deleting ----------------------------------------------------------------------------------------------

    def handle_delete(self) -> Any:
        """Begin to delete the object, which may be gone already; return a token.

        ``self.properties`` are those last applied. ``self.state.physical_id`` may be None: an interrupted or failed
        create may have created an object that :meth:`find`, which is called before, did not find.
        """

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Return whether the object is deleted."""
        return True

    def handle_snapshot_delete(self) -> Any:
        """Begin to take the snapshot that the deletion policy ``Snapshot`` asks for; return a token, at the end its id.

        Called before :meth:`handle_delete`, for what was complete once; only types with this method have the policy.
        May run again after a crash, and must find what it began; None if there is no object any more.
        """

    def check_snapshot_delete_complete(self, token: Any) -> bool | Wait:
        """Return whether the snapshot is complete: only then is the object deleted."""
        return True

    def handle_retain(self) -> None:
        """Detach an object that is kept when its resource is deleted."""

    # -- actions without a new definition ----------------------------------------------------------------------

    # ``self.properties`` are those last applied. Only ``self.state`` is stored after these actions.

    def handle_check(self) -> Any:
        """Begin to check the object beyond what :meth:`observe` returns; return a token."""

    def check_check_complete(self, token: Any) -> bool | Wait:
        """Return whether the check is complete; then the result of :meth:`observe` is compared with the properties."""
        return True

    def handle_suspend(self) -> Any:
        """Begin to suspend the object, which may be suspended already; return a token.

        A suspended object may be deleted, but is resumed before an update.
        """

    def check_suspend_complete(self, token: Any) -> bool | Wait:
        """Return whether the object is suspended."""
        return True

    def handle_resume(self) -> Any:
        """Begin to resume the object, which may not be suspended; return a token."""

    def check_resume_complete(self, token: Any) -> bool | Wait:
        """Return whether the object is resumed."""
        return True

    def handle_snapshot(self) -> Any:
        """Begin to take a snapshot of the object; return a token.

        The last token is the *entry* that the snapshot keeps for this resource: :meth:`handle_restore` and
        :meth:`handle_delete_snapshot` receive it, even when the object no longer exists. If it is None, nothing is
        kept, and neither of them is called.
        """

    def check_snapshot_complete(self, token: Any) -> bool | Wait:
        """Return whether the snapshot is complete."""
        return True

    def handle_restore(self, entry: Any) -> Any:
        """Begin to restore the object from a snapshot; return a token. Must be idempotent.

        The object may be another one than that of the snapshot; it has the snapshot's definition already.
        """

    def check_restore_complete(self, token: Any) -> bool | Wait:
        """Return whether the object is restored."""
        return True

    def handle_delete_snapshot(self, entry: Any) -> None:
        """Delete the objects of a snapshot; they, and the resource, may be gone already.

        The entry of an incomplete snapshot is the last token.

        Runs in the coordinator. ``self.state`` contains what is known of the resource, and is not stored afterwards.
        """

    # -- reading -----------------------------------------------------------------------------------------------

    def reference_id(self) -> str | None:
        """Return the value of ``{get_resource: name}``; by default the physical id."""
        return self.state.physical_id

    def attribute(self, name: str) -> Any:
        """Return the current value of an attribute of the schema: plain types, None if unknown.

        An exception fails the resources that read the attribute, not this one, unless it is retryable.
        """

    def whole(self) -> Mapping[str, Any] | None:
        """Return the value of ``{get_attr: [name, show]}``: the object as its system shows it, in plain types.

        By default None: a map of all attributes of the schema. Exceptions are those of :meth:`attribute`.
        """
        return None

    def observe(self) -> Mapping[str, Any] | CannotTell | None:
        """Return the actual properties of the object, or None if it does not exist.

        Properties that cannot be observed are left out; a check compares the others with ``self.properties``. By
        default ``CANNOT_TELL``: the type does not support it.
        """
        return CANNOT_TELL

    def describe(self) -> Mapping[str, Any] | CannotTell | None:
        """Return the properties of the object as a template would describe it, or None if it does not exist.

        For the template text of an object that is to be imported: all properties that can be read, also those that
        ``self.properties`` leaves out, which are the template's if it lists the resource. Nothing but
        ``self.state.physical_id`` is known of the object. Values that do not fit their schemas are left out.
        By default, the result of :meth:`observe`.
        """
        return self.observe()

    @classmethod
    def observe_all(
        cls, resources: Sequence["Resource"]
    ) -> Sequence[Mapping[str, Any] | CannotTell | Exception | None]:
        """Return what :meth:`observe` returns of each resource, or the exception that it raises, in their order.

        Called by observations, with resources of this type in one project. A type whose system lists many objects in
        one request implements it, so that an observation of ten resources costs one request.
        """
        seen: list[Mapping[str, Any] | CannotTell | Exception | None] = []
        for resource in resources:
            try:
                seen.append(resource.observe())
            except Exception as error:  # noqa: BLE001  # one stops no other
                seen.append(error)
        return seen

    # -- signals -----------------------------------------------------------------------------------------------

    def handle_signal(self, details: Mapping[str, Any]) -> str:
        """Handle a signal: change ``self.state.metadata`` and return a sentence for the event history.

        May run more than once for one signal, and while another step of this resource runs: it must change nothing but
        the metadata.

        Raises:
            ResourceFailure: the signal is refused; nothing is stored.
        """
        raise ResourceFailure(f"resources of type {self.type_name} take no signals")

    # -- placement and order -----------------------------------------------------------------------------------

    @classmethod
    def machine_requirements(cls, properties: Mapping[str, Any]) -> MachineRequirements | None:
        """Return the requirements on a node of a resource with these properties; None: it needs no node.

        The properties are not converted, and values that are not known yet are ``UNKNOWN``.
        """
        return None

    @classmethod
    def implied_requirements(cls, own: Sibling, siblings: Siblings) -> Iterable[str]:
        """Return the names of further resources of the stack that must be complete before a resource of this type.

        For what a template does not say: a port gets an address from the subnets of its network that exist already.
        Must depend on nothing but the arguments. A requirement that would close a circle is left out.
        """
        return ()

    # -- validating --------------------------------------------------------------------------------------------

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
        """Return the translation rules of properties; see :mod:`orchestrator.plugins.translation`.

        ``properties`` are converted but not translated; values that are not known yet are ``UNKNOWN``.
        """
        return ()

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check rules that schemas cannot express; values that are not known yet are ``UNKNOWN``.

        Called when the whole stack is validated, and again before an action begins, when all values are known.

        Raises:
            PropertyError: a property is wrong; with its path.
        """

    @classmethod
    def validate_written(cls, properties: Mapping[str, Any]) -> None:
        """Check, as :meth:`validate` does, values that are written in a template but not the results of references.

        Called when the whole stack is validated, after :meth:`validate`; the results of references are ``UNKNOWN``.
        """

    @classmethod
    def unsupported(cls, given: Mapping[str, Any], clients: NamedClients) -> Iterable[PropertyError]:
        """Return an error for each given property, or the type (path ``()``), that the other system does not support.

        Called when a stack is validated, if nothing else is wrong.

        Raises:
            Exception: the system could not be queried.
        """
        return ()

    @classmethod
    def refuses_snapshots(cls, clients: NamedClients) -> str:
        """Return why the other system takes no snapshots before deletions, although the type does; empty if it does."""
        return ""

    @classmethod
    def is_retryable(cls, error: Exception) -> bool:
        """Return whether a step that raised an exception other than :class:`ResourceFailure` is retried.

        Exceptions that a client of this resource classifies as retryable are retried in any case.
        """
        return False
