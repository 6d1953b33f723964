"""Connections to stacks, for scripts: the operations of the program ``isotherm`` as methods.

::

    from isotherm import connect

    with connect() as stacks:
        made = stacks.wait(stacks.create("web", "web.yaml", parameters={"count": 3}))
        print(made.state, stacks.outputs("web"))
        stacks.wait(stacks.delete("web"))

Without configuration the script's own process does the work; what is unfinished at its end, the next process continues.
With the setting ``broker_url`` workers do it, and the script only waits.

``connect``, ``Connection``
    opens a connection; the connection and its methods
``StackView``, ``ResourceView``, ``OutputView``, ``EventView``, ``Progress``
    the types of results, for annotations
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Final, Self, TypedDict, Unpack

from orchestrator.access.authenticators import local_caller
from orchestrator.cli.logs import configure_logs
from orchestrator.cli.source import Given, existing_job, stack_job
from orchestrator.config.access_policy import load_policy
from orchestrator.config.caller import acting_for
from orchestrator.config.logger import is_configured
from orchestrator.config.settings import Settings, load_settings
from orchestrator.model.actions import CHECK, RESUME, SUSPEND
from orchestrator.model.identity import Caller
from orchestrator.model.policy import UNPROTECT, Policy
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.service import Service
from orchestrator.views.stacks import EventView, OutputView, Progress, ResourceView, StackView

__all__ = [
    "Connection",
    "EventView",
    "OutputView",
    "Progress",
    "ResourceView",
    "StackView",
    "connect",
]


class Definition(TypedDict, total=False):
    """The definition of a stack, besides its template."""

    #: Files or URLs, in order; later ones win.
    environments: Collection[str]
    parameters: Mapping[str, Any]
    timeout_minutes: float | None
    #: Whether a failed operation is rolled back; a new stack is deleted.
    rollback: bool
    #: The tags of the stack; None keeps the present ones.
    tags: Collection[str] | None


#: The operations of the service's methods that do more than read.
_OPERATIONS: Final = {
    "create": "stack.create",
    "definition": "stack.update",
    "update": "stack.update",
    "delete": "stack.delete",
    "cancel": "stack.cancel",
    "protect": "stack.protect",
    "signal": "stack.signal",
}


def connect(**settings: Any) -> "Connection":
    """Open a connection; close it, or use it as a context manager.

    Args:
        settings: Such as ``project`` or ``state_directory``; they override ``ISOTHERM_*`` variables and
            ``isotherm.toml``.

    Raises:
        InvalidInput: a setting is wrong.
        NotAllowed: the token in the settings is unknown. With a known one, methods raise it beyond its user's role.
        Unavailable: the database cannot be reached.
    """
    read = load_settings(**settings)
    if not is_configured():
        # Otherwise every log line of the engine would be in the script's output.
        configure_logs(read, quiet=True)
    who, policy = local_caller(read, "Python"), load_policy(read)
    checked: Any = _CheckedService(Service.open(read), who, policy)
    return Connection(read, checked)


class _CheckedService:
    """The service of a caller, each method of which checks the caller's role first."""

    def __init__(self, service: Service, who: Caller, policy: Policy) -> None:
        self._service, self._who, self._policy = service, who, policy

    def close(self) -> None:
        """Close the service."""
        self._service.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            operation = (
                f"stack.{args[0].lower()}" if name == "operate" else _OPERATIONS.get(name, "stack.read")
            )
            needed = [operation]
            if options.get("unprotect") or options.get("protected") is False:
                needed.append(UNPROTECT)
            for each in needed:
                self._policy.require(self._who.identity, each, self._service.settings.project)
            with acting_for(self._who):
                return getattr(self._service, name)(*args, **options)

        return call


def _all_of(given: Definition) -> Given:
    tags = given.get("tags")
    return Given(
        environments=given.get("environments", ()),
        parameters=given.get("parameters", {}),
        timeout_minutes=given.get("timeout_minutes"),
        rollback=given.get("rollback", False),
        tags=None if tags is None else tuple(tags),
    )


class Connection:
    """Stacks of one project, by name or id. Methods that begin an operation return at once; :meth:`wait` waits for it.

    Methods that take a stack raise ``NotFound`` if it does not exist. Those that begin an operation raise ``Conflict``
    if the stack's state does not allow it or a lifecycle plugin refuses, and ``Unavailable`` if the queue cannot be
    reached or no coordinator takes the job.
    """

    def __init__(self, settings: Settings, service: Service) -> None:
        self._settings, self._service = settings, service

    def close(self) -> None:
        """Wait for running steps; without a broker, the next connection or command continues unfinished operations."""
        self._service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- changing ----------------------------------------------------------------------------------------------

    def create(self, name: str, template: str | PathLike[str], **given: Unpack[Definition]) -> StackView:
        """Begin to create a stack from the template in a file.

        Raises:
            InvalidInput: the template is invalid, or a file that it names cannot be read.
        """
        job = stack_job(name, self._settings, template=fspath(template), **_all_of(given))
        return self._service.create(job)

    def update(
        self,
        name: str,
        template: str | PathLike[str] | None = None,
        *,
        unprotect: bool = False,
        targets: Iterable[str] = (),
        replaces: Iterable[str] = (),
        **given: Unpack[Definition],
    ) -> StackView:
        """Begin to update a stack: the given parts of the definition replace the present ones.

        With ``unprotect``, what is protected may be deleted and replaced. With ``targets``, only these resources are
        visited, and all that they require. The resources ``replaces`` get another object in any case.

        Raises:
            InvalidInput: the template is invalid, a file that it names cannot be read, or a resource that is named
                does not fit.
            Conflict: resources are named, and the stack is not at rest.
        """
        present = self._service.definition(name)
        path = None if template is None else fspath(template)
        job = existing_job(present, self._settings, template=path, **_all_of(given))
        job = replace(job, unprotect=unprotect, targets=tuple(targets), replaces=tuple(replaces))
        return self._service.update(job)

    def delete(self, name: str, *, unprotect: bool = False) -> StackView:
        """Begin the deletion of a stack; one that is deleted already, by its id, is returned as it is.

        With ``unprotect``, the stack and what is in it may be protected.
        """
        return self._service.delete(name, unprotect=unprotect) or self._service.stack(name)

    def cancel(self, name: str, *, rollback: bool = True, unprotect: bool = False) -> StackView:
        """End the operation in progress, and with ``rollback`` begin a rollback; ``unprotect`` is as for an update."""
        return self._service.cancel(name, rollback=rollback, unprotect=unprotect)

    def protect(self, name: str, resources: Collection[str] = (), *, protected: bool = True) -> StackView:
        """Protect a stack, or only some of its resources, against deletion, and resources against replacement.

        A resource of a nested stack is named by its path, with slashes. ``protected=False`` takes the protection off.
        """
        return self._service.protect(name, tuple(resources), protected=protected)

    def check(self, name: str) -> StackView:
        """Begin to check that all resources exist unchanged."""
        return self._service.operate(CHECK, name)

    def suspend(self, name: str) -> StackView:
        """Begin to suspend all resources of a stack."""
        return self._service.operate(SUSPEND, name)

    def resume(self, name: str) -> StackView:
        """Begin to resume a suspended stack."""
        return self._service.operate(RESUME, name)

    def signal(self, name: str, resource: str, details: Mapping[str, Any] | None = None) -> StackView | None:
        """Send a signal to a resource; return the stack that changes because of it, None if none does.

        Raises:
            InvalidInput: the signal would clear a hook of an unknown kind.
        """
        return self._service.signal(name, resource, details or {})

    # -- watching ----------------------------------------------------------------------------------------------

    def watch(self, stack: StackView | str, *, interval_seconds: float = 0.25) -> Iterator[Progress]:
        """Yield the progress of a stack's operation until its end; the last one is ``finished``."""
        stack_id = stack.id if isinstance(stack, StackView) else self._service.progress(stack).stack.id
        return self._service.watch(stack_id, interval_seconds=interval_seconds)

    def wait(self, stack: StackView | str) -> StackView:
        """Wait for the end of a stack's operation; return the stack, with its outputs and final ``state``."""
        *_, last = self.watch(stack)
        return self._service.stack(last.stack.id)

    # -- showing -----------------------------------------------------------------------------------------------

    def stacks(
        self,
        *,
        tags: Collection[str] = (),
        states: Collection[str] = (),
        names: Collection[str] = (),
        older_than_seconds: float | None = None,
        limit: int | None = None,
    ) -> list[StackView]:
        """Return the stacks of the project, oldest first, at most ``limit``.

        They have all of ``tags``, one of ``states`` (``CREATE_FAILED``, or only ``FAILED``) and one of ``names``, in
        which ``*`` and ``?`` match any characters.

        Raises:
            InvalidInput: there is no such state.
        """
        return self._service.stacks(
            tags=tags, states=states, names=names, older_than_seconds=older_than_seconds, limit=limit
        )

    def stack(self, name: str) -> StackView:
        """Return one stack, with its parameters and outputs."""
        return self._service.stack(name)

    def outputs(self, name: str) -> dict[str, Any]:
        """Return the values of a stack's outputs; for those without one, ``stack(name).outputs`` has the error."""
        return {each.key: each.value for each in self._service.outputs(name) if not each.error}

    def resources(self, name: str) -> list[ResourceView]:
        """Return the resources of a stack, oldest first."""
        return self._service.resources(name)

    def resource(self, name: str, resource: str) -> ResourceView:
        """Return one resource of a stack."""
        return self._service.resource(name, resource)

    def events(self, name: str, *, after: int = 0) -> list[EventView]:
        """Return at most a thousand events of a stack with ids above ``after``, oldest first; deleted stacks' too."""
        return self._service.events(name, after=after)

    # -- nodes -------------------------------------------------------------------------------------------------

    def node_client(self) -> NodeClient:
        """Return the client for node RPCs, one for all connections with these settings.

        Raises:
            InvalidInput: the settings do not suffice for a client.
        """
        return NodeClient.of(self._settings)
