"""All attributes of a resource as its object has them now; on record are only those that others refer to."""

from collections.abc import Mapping
from typing import Any

from orchestrator.config.log_masking import masking_logs
from orchestrator.config.settings import Settings
from orchestrator.definition import ResourceProxy, StackDefinition
from orchestrator.engine.idle_nested_stacks import installed_kind, resource_of
from orchestrator.engine.row_secrets import RowSecrets
from orchestrator.errors import Conflict, typed_message
from orchestrator.model.plain import NotPlain, refuse_not_plain
from orchestrator.planning.rows import node_data_of
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store


def live_attributes(
    row: ResourceRow, stack: StackRow, store: Store, types: Mapping[str, type[Resource]], settings: Settings
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the attributes of a resource, read by its plugin in this process, and why others could not be read.

    Raises:
        Conflict: it has no object, is a nested stack, or its type is not installed here.
    """
    if row.action in ("INIT", "DELETE"):
        raise Conflict(f"resource {row.name!r} is {row.action}_{row.status} and has no attributes")
    kind = installed_kind(row, types)
    if issubclass(kind, StackResource):
        raise Conflict(
            f"resource {row.name!r} is a stack: 'isotherm stack output list {row.physical_id}' shows it"
        )
    required = {each.name: each for each in store.stacks.resources(stack.id) if each.id in row.requires}
    within = StackDefinition.of_context(
        store.traversals.context(stack.traversal_id),
        resources={
            name: ResourceProxy(name=name, type=each.type, data=node_data_of(each))
            for name, each in required.items()
        },
        asker=row.name,
    )
    resource = resource_of(row, kind, within, settings, store.database.time())
    read: dict[str, Any] = {}
    unread: dict[str, str] = {}
    secrets = RowSecrets(
        store=store, types=types, settings=settings, stack=stack, row=row, clients=resource.clients
    )
    for name in kind.attributes_schema:
        try:
            with masking_logs(secrets.masked):
                value = resource.attribute(name)
            refuse_not_plain(value, most_bytes=settings.max_value_bytes, deepest=settings.max_value_depth)
            read[name] = value
        except NotPlain as error:
            unread[name] = str(error)
        except Exception as error:  # noqa: BLE001  # the boundary to plugins
            unread[name] = secrets.masked(typed_message(error))
    return read, unread
