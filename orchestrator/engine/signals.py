"""Signals to resources: a signal changes the metadata of its resource and wakes the checks that wait for it."""

from collections.abc import Mapping
from typing import Final

from orchestrator.config.log_masking import masking_logs
from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.engine.idle_nested_stacks import installed_kind, resource_of
from orchestrator.engine.row_secrets import RowSecrets
from orchestrator.errors import Conflict, PluginMistake
from orchestrator.model.messages import CheckOrder
from orchestrator.model.plain import NotPlain, refuse_no_map
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.scaling import ScalingResource
from orchestrator.plugins.steps import ResourceFailure
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.template.template_resource import kind_of_type

#: How often a signal is tried while concurrent signals change the same resource.
SIGNAL_TRIES: Final = 50
#: The actions during and after which a resource takes no signals, unless its actions wait for them.
UNSIGNALLED: Final = ("INIT", "DELETE", "SUSPEND")


class Signals:
    """Carries out signals to resources."""

    def __init__(self, store: Store, types: Mapping[str, type[Resource]], settings: Settings) -> None:
        self._store, self._types, self._settings = store, types, settings

    def change_stacks(self, stack: StackRow, resource: str) -> bool:
        """Return whether a signal to this resource may begin an operation on a stack, which only a coordinator can.

        Raises:
            NotFound: there is no such resource.
        """
        kind = kind_of_type(self._types, self._store.stacks.resource(stack.id, resource).type)
        return kind is not None and issubclass(kind, ScalingResource)

    def send(self, stack: StackRow, resource: str, details: Mapping[str, object]) -> tuple[CheckOrder, ...]:
        """Signal a resource; return the orders of the checks that wait for it, to be published.

        Raises:
            NotFound: there is no such resource.
            Conflict: the resource takes no such signal, or none in its present state.
            PluginMistake: its type left metadata that cannot be stored.
        """
        for _ in range(SIGNAL_TRIES):
            row = self._store.stacks.resource(stack.id, resource)
            target = signalled(row, stack, self._types, self._settings, self._store.database.time())
            target.annotations = self._store.annotations.when_looked_at(stack.id, row.name)
            secrets = RowSecrets(
                store=self._store,
                types=self._types,
                settings=self._settings,
                stack=stack,
                row=row,
                clients=target.clients,
            )
            with masking_logs(secrets.masked):
                try:
                    reason = secrets.masked(str(target.handle_signal(details)))
                except ResourceFailure as error:
                    why = secrets.masked(str(error))
                    raise Conflict(f"resource {row.name!r} refused the signal: {why}") from error
            refuse_unstorable(target, metadata=target.state.metadata)
            if self._store.stacks.write_signal(row, stack.traversal_id, target.state.metadata, reason):
                woken = self._store.nodes.wake_resource(row.id) if target.awaits_signals else ()
                return (*woken, *self._store.nodes.wake_dependents(row.id))
        raise Conflict(f"resource {resource!r} is being signalled by too many others; try again")


def refuse_unstorable(target: Resource, **left: object) -> None:
    """Refuse what the type of a signalled resource left behind, unless all of it are plain maps.

    Raises:
        PluginMistake: one is not, and nothing is stored.
    """
    for name, value in left.items():
        try:
            refuse_no_map(
                value,
                most_bytes=target.settings.max_value_bytes,
                deepest=target.settings.max_value_depth,
                binary=name == "data",
            )
        except NotPlain as error:
            raise PluginMistake(
                f"type {target.type_name!r} left behind what is no plain value: self.state.{name}: {error}; the signal "
                f"to resource {target.name!r} changed nothing"
            ) from error


def signalled(
    row: ResourceRow, stack: StackRow, types: Mapping[str, type[Resource]], settings: Settings, now: float
) -> Resource:
    """Return the target of a signal, rebuilt from its row; ``now`` is the database's time.

    Raises:
        Conflict: it takes no signals in its present state, or its type is not installed.
    """
    kind = kind_of_type(types, row.type)
    is_waiting = (
        row.action != "INIT" and row.status == "IN_PROGRESS" and kind is not None and kind.awaits_signals
    )
    if row.action in UNSIGNALLED and not is_waiting:
        raise Conflict(f"resource {row.name!r} is {row.action}_{row.status} and takes no signals")
    kind = installed_kind(row, types)
    within = StackDefinition(name=stack.name, id=stack.id, project=stack.project, asker=row.name)
    return resource_of(row, kind, within, settings, now)
