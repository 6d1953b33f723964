"""Parent resources of nested stacks, rebuilt outside of a check: for a signal, or at the end of their stack."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from orchestrator.config.limits import Limits
from orchestrator.config.log_masking import masking_logs
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.definition import LazyFiles, ResourceProxy, StackDefinition
from orchestrator.engine.nested_stacks import ChangesStacks, NestedStacks
from orchestrator.engine.row_secrets import RowSecrets
from orchestrator.errors import Conflict, NotFound
from orchestrator.model.plain import refuse_not_plain
from orchestrator.planning.rows import node_data_of, stack_as_made
from orchestrator.planning.stored_templates import load_source
from orchestrator.plugins.properties import convert_properties
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.plugins.steps import ResourceState
from orchestrator.plugins.validating import typed_properties
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.template_resource import kind_of_type

log = get_logger()


def installed_kind(row: ResourceRow, types: Mapping[str, type[Resource]]) -> type[Resource]:
    """Return the type of a row's resource.

    Raises:
        Conflict: it is not installed.
    """
    kind = kind_of_type(types, row.type)
    if kind is None:
        raise Conflict(f"resource {row.name!r} is of the type {row.type!r}, which is not installed here")
    return kind


def resource_of(
    row: ResourceRow,
    kind: type[Resource],
    stack: StackDefinition,
    settings: Settings,
    now: float,
    *,
    properties: Mapping[str, Any] | None = None,
) -> Resource:
    """Return the resource of a row, with the properties last applied; ``now`` is the database's time."""
    return kind(
        name=row.made_as,
        type_name=row.type,
        state=ResourceState(
            uuid=row.id,
            physical_id=row.physical_id,
            on_node=row.on_node,
            data=dict(row.data),
            metadata=dict(row.metadata),
            action=row.action,
            status=row.status,
        ),
        properties=typed_properties(kind, row.properties or {}) if properties is None else properties,
        stack=stack_as_made(stack, row.made_in),
        settings=settings,
        now=now,
    )


class IdleNestedStacks:
    """Rebuilds parent resources of nested stacks from their rows."""

    def __init__(
        self,
        coordinator: ChangesStacks,
        store: Store,
        types: Mapping[str, type[Resource]],
        settings: Settings,
    ) -> None:
        self._store, self._types, self._settings = store, types, settings
        self._children = NestedStacks(coordinator, store, settings, types)

    def stack_resource(self, row: ResourceRow, parent: StackRow, now: float) -> StackResource | None:
        """Return the parent resource of a row, able to change its stack outside a check; None if it has no stack."""
        kind = kind_of_type(self._types, row.type)
        fragment = self._store.histories.applied(row.id)
        if kind is None or fragment is None or not issubclass(kind, StackResource):
            return None
        definition = ResourceDefinition.from_fragment(
            row.name, fragment["definition"], Limits.of(self._settings)
        )
        context = self._store.traversals.context(parent.traversal_id)
        stack = StackDefinition.of_context(
            context,
            source=cache(partial(load_source, self._store, parent.template_id, context, self._settings)),
            resources={name: self._proxy(parent, name) for name in definition.requirements},
            files=LazyFiles(fragment.get("files", {}), self._store.templates.file),
            asker=row.name,
        )
        resource = resource_of(row, kind, stack, self._settings, now)
        assert isinstance(resource, StackResource)  # noqa: S101  # as its class is
        resource.annotations = self._store.annotations.when_looked_at(parent.id, row.name)
        resource.stacks = self._children.at_rest(row, parent, definition, stack, context.get("hidden", ()))
        resource.wanted = tuple(tuple(path) for path, _ in row.attributes)
        resource.update_policy = convert_properties(
            kind.update_policy_schema, definition.update_policy, constraints=False
        )
        return resource

    def _proxy(self, parent: StackRow, name: str) -> ResourceProxy:
        try:
            row = self._store.stacks.resource(parent.id, name)
        except NotFound:
            return ResourceProxy(name=name)
        return ResourceProxy(name=name, type=row.type, data=node_data_of(row))

    def record_attributes(self, resource_id: str) -> None:
        """Record the present attributes of a parent resource, unless a traversal holds its row.

        Errors of the resource type are logged, not raised.
        """
        row = self._store.stacks.row(resource_id)
        if row is None or not row.attributes or row.status != "COMPLETE" or row.lock_traversal is not None:
            return
        parent = self._store.stacks.by_id(row.stack_id)
        if parent is None:
            return
        resource = self.stack_resource(row, parent, self._store.database.time())
        if resource is None:
            return
        secrets = RowSecrets(
            store=self._store, types=self._types, settings=self._settings, stack=parent, row=row
        )
        with masking_logs(secrets.masked):
            try:
                attributes = [[list(path), resource.attribute_at(tuple(path))] for path, _ in row.attributes]
                limits = self._settings
                refuse_not_plain(
                    attributes, most_bytes=limits.max_value_bytes, deepest=limits.max_value_depth
                )
            except Exception as error:
                # Plugin code may raise anything: the recorded attributes stay.
                log.warning(
                    "an attribute could not be read", resource=row.name, type=row.type, exc_info=error
                )
                return
        if attributes != [[list(path), value] for path, value in row.attributes]:
            self._store.scalings.write_attributes(row, attributes)
