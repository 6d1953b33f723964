"""The definition of a stack by its rows: what is known of its resources, for outputs and for what refers to them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from orchestrator.definition import NodeData, ResourceProxy, StackDefinition, StackSource

if TYPE_CHECKING:
    from orchestrator.plugins.resource import Resource
    from orchestrator.store.stacks.stacks import ResourceRow
    from orchestrator.template.template import Template

#: The part of a fragment with the name under which a moved row was made, by the row's id.
MADE_AS: Final = "made_as"
#: The part with the id and the name of the stack in which it was made, where that is another.
MADE_IN: Final = "made_in"


def node_data_of(row: "ResourceRow", kind: "type[Resource] | None" = None) -> NodeData:
    """Return the node data of a resource, from its row; its type says which of them are secrets."""
    schema = kind.attributes_schema if kind else {}
    sensitive = {name for name, attribute in schema.items() if attribute.sensitive}
    secrets = [tuple(path) for path, _ in row.attributes if path[0] in sensitive]
    if any(row.data.get(name) == row.reference_id for name in sensitive):
        secrets.append(())
    return NodeData(
        uuid=row.id,
        name=row.name,
        action=row.action,
        status=row.status,
        physical_id=row.physical_id,
        reference_id=row.reference_id,
        attributes={tuple(path): value for path, value in row.attributes},
        unread={tuple(path): why for path, why in row.unread},
        secrets=tuple(secrets),
    )


def names_of(row: "ResourceRow") -> dict[str, object]:
    """Return the parts of a node's fragment with where, and as what, a moved row was made; empty for other rows."""
    names: dict[str, object] = {MADE_AS: {row.id: row.made_as}} if row.former_names else {}
    if row.made_stack_id is not None:
        names[MADE_IN] = {row.id: [row.made_stack_id, row.made_stack_name]}
    return names


def made_as_of(fragment: Mapping[str, Any], row_id: str, name: str) -> str:
    """Return the name under which a row was made, by the fragment of a node that is called ``name``.

    What replaces the row is made under the node's name.
    """
    made_as: str = fragment.get(MADE_AS, {}).get(row_id, name)
    return made_as


def made_in_of(fragment: Mapping[str, Any], row_id: str) -> tuple[str, str] | None:
    """Return the id and the name of the stack in which a row was made, by the fragment of a node; None: where it is."""
    made_in = fragment.get(MADE_IN, {}).get(row_id)
    return None if made_in is None else (made_in[0], made_in[1])


def stack_as_made(stack: StackDefinition, made_in: tuple[str, str] | None) -> StackDefinition:
    """Return a stack as the type of a resource sees it that was made in another one: with the id and name of that.

    Types make names of objects, owners on machines and signed addresses of them, which a move does not change.
    """
    return stack if made_in is None else replace(stack, id=made_in[0], name=made_in[1])


def definition_of_rows(
    context: Mapping[str, object],
    template: "Template",
    rows: Iterable[NodeData],
    files: Mapping[str, str],
    source: Callable[[], StackSource] = StackSource,
) -> StackDefinition:
    """Return a stack with the node data of its rows, from which outputs are resolved."""
    known = {data.name: data for data in rows}
    proxies = {
        name: ResourceProxy(name=name, type=definition.type, data=known.get(name))
        for name, definition in template.resources.items()
    }
    return StackDefinition.of_context(context, source=source, resources=proxies, files=files)
