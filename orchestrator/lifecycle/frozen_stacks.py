"""Frozen stacks: the read-only view of stacks that lifecycle plugins get.

Values are those known without asking any resource, as in a preview. Hidden parameters are masked, and so is every value
that a function makes of them, or of the contents of files, which may be keys.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from msgpack import ExtType

from hooks.stack import FrozenResource, FrozenStack
from hooks.values.frozen import FrozenDict, FrozenList
from hooks.values.lazy import LazyMapping
from orchestrator.config.garbage import paused_collection
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.definition import SCALARS, UNKNOWN, StackDefinition
from orchestrator.errors import IsothermError
from orchestrator.lifecycle.definition_cache import ShownDefinitions
from orchestrator.model.messages import StackJob
from orchestrator.model.nested_stack import NestedJob
from orchestrator.planning.comparison import Comparison
from orchestrator.planning.matching import standing
from orchestrator.planning.preparation import Prepared, blank_proxies, blank_stack
from orchestrator.planning.stored_templates import load_registry, load_source, load_template
from orchestrator.sandbox.budget import evaluation, keep
from orchestrator.store.stacks.presences import Presence
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.operation_rows import OperationRow
from orchestrator.template.expressions import Expression
from orchestrator.template.hiding import HIDDEN
from orchestrator.template.template import Template

if TYPE_CHECKING:
    from orchestrator.store.traversals.transfers import Transfers

log = get_logger()

#: The key of properties that are known only as a whole.
WHOLE: Final = "*"

#: msgpack extension types: unknown values, integers beyond 64 bits, and texts that are not valid UTF-8.
_UNKNOWN, _LARGE, _ODD = ExtType(1, b""), 2, 3

#: The fields of a stack that are texts.
_NAMES: Final = ("name", "id", "project", "parent_id", "root_id")
#: The properties of a resource whose definition cannot be evaluated.
_UNREADABLE: Final = FrozenDict({WHOLE: UNKNOWN})
_NONE: Final = FrozenDict()

_DEFINITIONS: Final = ShownDefinitions()

#: The rows of resources, or a function that reads them at the first access.
Rows = Iterable[ResourceRow | Presence] | Callable[[], Iterable[ResourceRow | Presence]]


@paused_collection()
def definition_shown(prepared: Prepared, *, tags: tuple[str, ...] = ()) -> FrozenStack:
    """Return the frozen stack of a validated definition, without rows.

    Values that cannot be evaluated are unknown.
    """
    template, hidden = prepared.template, prepared.parameters.hidden
    _, stack = blank_stack(prepared)
    family = prepared.family
    resources = FrozenDict(_resources(template, stack, hidden, prepared.types))
    _DEFINITIONS.remember((prepared.stack_id, prepared.stored.id), resources)
    return FrozenStack(
        name=prepared.name,
        id=prepared.stack_id,
        project=prepared.project,
        parameters=_parameters(prepared.parameters.values, hidden),
        tags=tags,
        resources=resources,
        parent_id=family.parent_id if family else "",
        root_id=family.root_id if family else prepared.stack_id,
    )


def comparison_shown(
    store: Store, row: StackRow, compared: Comparison, settings: Settings, *, tags: tuple[str, ...] = ()
) -> FrozenStack:
    """Return the frozen stack that an update of ``row`` is to make: with targets, the rest is as it is at present."""
    shown, part = definition_shown(compared.prepared, tags=tags), compared.part
    if part is None:
        return shown
    present = stack_shown(store, row, settings).resources
    stays = {each.name for each in part.others}
    resources = {name: each for name, each in shown.resources.items() if name in part.names}
    resources |= {name: each for name, each in present.items() if name in stays}
    return replace(shown, resources=FrozenDict(resources))


def stack_shown(store: Store, row: StackRow, settings: Settings) -> FrozenStack:
    """Return the frozen stack of a row: its stored definition, and the rows of its resources.

    The resources are read from the store at the first access.
    """
    context = store.traversals.context(row.traversal_id)

    def defined() -> Mapping[str, FrozenResource]:
        known = _DEFINITIONS.get((row.id, row.template_id))
        if known is not None:
            return known
        template = load_template(store, row.template_id, context, settings)
        stack = StackDefinition.of_context(
            context,
            source=cache(partial(load_source, store, row.template_id, context, settings)),
            resources=blank_proxies(template),
            files=template.files,
        )
        registry = load_registry(store, row.template_id, settings)
        types = {name: registry.actual(each.type, (name,)) for name, each in template.resources.items()}
        resources = _resources(template, stack, frozenset(context.get("hidden", ())), types)
        _DEFINITIONS.remember((row.id, row.template_id), resources)
        return resources

    def resources() -> dict[str, FrozenResource]:
        rows = store.presences.of(row.id)
        try:
            return _merged(defined(), rows)
        except IsothermError as error:
            # A function or a file format of it is not installed any more; a delete must work all the same.
            log.warning("a stored definition cannot be read", stack_name=row.name, reason=str(error))
            return _merged({}, rows, properties=_UNREADABLE)

    return FrozenStack(
        name=row.name,
        id=row.id,
        project=row.project,
        parameters=_parameters(context["parameters"], frozenset(context.get("hidden", ()))),
        tags=_tags_of(store, row.root_id) if row.parent_id else row.tags,
        resources=LazyMapping(resources),
        parent_id=row.parent_id or "",
        root_id=row.root_id or row.id,
    )


def present_shown(
    store: Store, row: StackRow | None, settings: Settings, *, even_deleted: bool = False
) -> FrozenStack | None:
    """Return the frozen stack of a row; None if there is none or, unless ``even_deleted``, the stack is deleted."""
    if row is None or (row.deleted_at is not None and not even_deleted):
        return None
    return stack_shown(store, row, settings)


def operation_shown(
    store: Store, operation: OperationRow, present: StackRow | None, settings: Settings
) -> FrozenStack:
    """Return the desired stack of an operation on record; ``present`` is the stack's row."""
    if operation.shown is not None:
        return shown_from_wire(operation.shown)
    now = present_shown(store, present, settings, even_deleted=True)
    # The stack may have been purged since plugins were called.
    return now or FrozenStack(name=operation.stack, id=operation.stack_id, project=operation.project)


def shown_after(
    store: Store, operation: OperationRow, present: StackRow | None, shown: FrozenStack, settings: Settings
) -> FrozenStack | None:
    """Return the stack after an operation, whose desired stack was ``shown``; None if it is deleted."""
    if present is None or present.deleted_at is not None or present.traversal_id != operation.id:
        return present_shown(store, present, settings)
    if operation.shown is None:
        return shown
    # The definition is the one that was shown: the stored one need not be read.
    return with_rows(shown, lambda: store.presences.of(present.id))


def root_action(store: Store, action: str, stack: FrozenStack) -> str:
    """Return the action under way on the root stack, "" for none; ``action`` if the stack is the root."""
    if not stack.parent_id:
        return action
    root = store.stacks.by_id(stack.root_id)
    return root.action if root is not None and root.status == "IN_PROGRESS" else ""


def tags_shown(store: Store, job: StackJob, row: StackRow | None = None) -> tuple[str, ...]:
    """Return the desired tags of a stack; ``row`` is the present stack, None if it is to be created.

    A nested stack has the tags of its root stack.
    """
    if isinstance(job, NestedJob):
        return _tags_of(store, job.family.root_id)
    if job.tags is not None:
        return job.tags
    return row.tags if row else ()


def _tags_of(store: Store, stack_id: str) -> tuple[str, ...]:
    stack = store.stacks.by_id(stack_id)
    return stack.tags if stack else ()


def with_rows(shown: FrozenStack, rows: Rows) -> FrozenStack:
    """Return the same stack with other rows of its resources.

    Resources that the definition does not have any more follow the others, without properties.
    """
    if callable(rows):
        read = rows
        return replace(shown, resources=LazyMapping(lambda: _merged(shown.resources, read())))
    return replace(shown, resources=FrozenDict(_merged(shown.resources, rows)))


def with_names(
    shown: FrozenStack | None, moved: Mapping[str, str], transfers: "Transfers | None" = None
) -> FrozenStack | None:
    """Return the same stack with other names of its resources; ``moved`` are the present names by the new ones.

    Of ``transfers``, it has the resources that it gets, and not those that it loses.
    """
    if shown is None or not (moved or transfers):
        return shown
    arrivals = transfers.arrivals if transfers else ()
    lost = {each.row_id for each in transfers.rows} if transfers else set()
    now = {was: name for name, was in moved.items()}

    def renamed(resource: FrozenResource) -> FrozenResource:
        return replace(
            resource,
            name=now.get(resource.name, resource.name),
            requires=tuple(sorted(now.get(each, each) for each in resource.requires)),
            others=tuple(map(renamed, resource.others)),
        )

    def resources() -> dict[str, FrozenResource]:
        every = map(renamed, (each for each in shown.resources.values() if each.uuid not in lost))
        return {each.name: each for each in every} | _merged({}, arrivals, properties=_UNREADABLE)

    return replace(shown, resources=LazyMapping(resources))


def _parameters(values: Mapping[str, Any], hidden: frozenset[str]) -> FrozenDict:
    return FrozenDict({name: HIDDEN if name in hidden else _plain(value) for name, value in values.items()})


def _resources(
    template: Template, stack: StackDefinition, hidden: frozenset[str], types: Mapping[str, str]
) -> dict[str, FrozenResource]:
    # One budget for all of them.
    with evaluation(template.draft.limits):
        return {
            name: FrozenResource(
                name=name,
                type=types[name],
                properties=_properties(definition.properties_expression, stack, hidden),
                requires=tuple(sorted(definition.requirements)),
            )
            for name, definition in template.resources.items()
        }


def _properties(expression: Expression, stack: StackDefinition, hidden: frozenset[str]) -> FrozenDict:
    whole = _shown(expression, stack, hidden)
    if whole is UNKNOWN:
        entries = expression.entries()
        if not entries:
            return _UNREADABLE
        whole = {name: _shown(each, stack, hidden) for name, each in entries.items()}
    if whole is None:
        return FrozenDict()
    plain = _plain(whole)
    return plain if isinstance(plain, FrozenDict) else FrozenDict({WHOLE: plain})


def _shown(expression: Expression, stack: StackDefinition, hidden: frozenset[str]) -> object:
    """Return a value with secrets masked; UNKNOWN if it cannot be evaluated or exceeds the limits."""
    try:
        value = expression.shown(stack, hidden, later=UNKNOWN)
        keep(value)
    except Exception:  # noqa: BLE001  # functions may be plugins; the operation does not depend on this
        return UNKNOWN
    return value


def _plain(value: object) -> object:
    """Return a frozen copy of a value, with UNKNOWN in place of what is not plain data."""
    if value.__class__ in SCALARS:
        return value
    if isinstance(value, Mapping):
        if not all(map(_is_key, value)):
            return UNKNOWN
        return FrozenDict({name: _plain(each) for name, each in value.items()})
    if isinstance(value, (list, tuple)):
        return FrozenList(map(_plain, value))
    return UNKNOWN


def _is_key(name: object) -> bool:
    return isinstance(name, str) and isinstance(_packable_text(name), str)


def _merged(
    defined: Mapping[str, FrozenResource],
    rows: Iterable[ResourceRow | Presence],
    properties: FrozenDict = _NONE,
) -> dict[str, FrozenResource]:
    """Return the resources of a definition with their rows, and those that have rows only.

    ``properties`` are set on the latter.
    """
    present: dict[str, list[ResourceRow | Presence]] = {}
    names: dict[str, str] = {}
    for row in rows:
        names[row.id] = row.name
        present.setdefault(row.name, []).append(row)
    merged = {name: _filled(each, present.get(name, ())) for name, each in defined.items()}
    for name, those in present.items():
        if name not in merged:
            best = max(those, key=standing)
            requires = tuple(sorted({names[each] for each in best.requires if each in names}))
            row_only = FrozenResource(name=name, type=best.type, properties=properties, requires=requires)
            merged[name] = _filled(row_only, those)
    return merged


def _filled(resource: FrozenResource, rows: Sequence[ResourceRow | Presence]) -> FrozenResource:
    # A row of another type is to be replaced by the resource.
    own = [row for row in rows if row.type == resource.type]
    best = max(own, key=standing) if own else None
    others = tuple(
        _with_row(FrozenResource(name=row.name, type=row.type), row) for row in rows if row is not best
    )
    return _with_row(resource, best, others)


def _with_row(
    resource: FrozenResource, row: ResourceRow | Presence | None, others: tuple[FrozenResource, ...] = ()
) -> FrozenResource:
    # Twice as fast as ``replace``, which counts with thousands of them.
    return FrozenResource(
        name=resource.name,
        type=resource.type,
        properties=resource.properties,
        requires=resource.requires,
        uuid=row.id if row else "",
        action=row.action if row else "",
        status=row.status if row else "",
        physical_id=row.physical_id if row else None,
        on_node=(row.on_node or "") if row else "",
        others=others,
    )


def shown_to_wire(shown: FrozenStack) -> dict[str, Any]:
    """Return a stack as types that msgpack packs, the inverse of :func:`shown_from_wire`."""
    return {
        **{name: getattr(shown, name) for name in _NAMES},
        "parameters": _packable(shown.parameters),
        "tags": list(shown.tags),
        "resources": list(map(_resource_to_wire, shown.resources.values())),
    }


def shown_from_wire(data: Mapping[str, Any]) -> FrozenStack:
    """Rebuild a stack from what :func:`shown_to_wire` returned, packed and unpacked or not."""
    resources = {each.name: each for each in map(_resource_from_wire, data["resources"])}
    return FrozenStack(
        **{name: data[name] for name in _NAMES},
        parameters=_unpacked(data["parameters"]),
        tags=tuple(data["tags"]),
        resources=FrozenDict(resources),
    )


def _resource_to_wire(shown: FrozenResource) -> list[Any]:
    return [
        shown.name,
        shown.type,
        _packable(shown.properties),
        list(shown.requires),
        shown.uuid,
        shown.action,
        shown.status,
        shown.physical_id,
        shown.on_node,
        list(map(_resource_to_wire, shown.others)),
    ]


def _resource_from_wire(data: Sequence[Any]) -> FrozenResource:
    name, kind, properties, requires, uuid, action, status, physical_id, on_node, others = data
    return FrozenResource(
        name=name,
        type=kind,
        properties=_unpacked(properties),
        requires=tuple(requires),
        uuid=uuid,
        action=action,
        status=status,
        physical_id=physical_id,
        on_node=on_node,
        others=tuple(map(_resource_from_wire, others)),
    )


def _packable(value: object) -> object:
    if isinstance(value, str):
        return _packable_text(value)
    if value is UNKNOWN:
        return _UNKNOWN
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return ExtType(_LARGE, str(value).encode())
    if isinstance(value, Mapping):
        return {name: _packable(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(map(_packable, value))
    return value


def _packable_text(text: str) -> str | ExtType:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return ExtType(_ODD, text.encode(errors="surrogatepass"))
    return text


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        return FrozenDict({name: _unpacked(each) for name, each in value.items()})
    if isinstance(value, ExtType):
        if value.code == _ODD:
            return value.data.decode(errors="surrogatepass")
        return int(value.data) if value.code == _LARGE else UNKNOWN
    if isinstance(value, list):
        return FrozenList(map(_unpacked, value))
    return value
