"""The resources of a stack, and of the stacks in it, as one list that reads like a tree."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.store.stacks.stacks import ResourceRow


def in_tree_order(
    stack_id: str, rows: Mapping[str, Sequence[ResourceRow]], *, depth: int, within: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], ResourceRow]]:
    """Yield each row of a stack, followed by those of the stack that it is, down to ``depth`` stacks in stacks.

    ``rows`` are those of all stacks by the stack's id; that of a stack in a stack is the id of the row that it is. With
    each row come the names of the resources that it is in, outermost first.
    """
    for row in rows.get(stack_id, ()):
        yield within, row
        if depth > 0:
            yield from in_tree_order(row.id, rows, depth=depth - 1, within=(*within, row.name))
