"""The resources of a stack and its nested stacks, as one list in the order of the tree."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.store.stacks.stacks import ResourceRow


def in_tree_order(
    stack_id: str, rows: Mapping[str, Sequence[ResourceRow]], *, depth: int, within: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], ResourceRow]]:
    """Yield each row of a stack, followed by those of its nested stack, down to ``depth`` levels of nesting.

    Each comes with the names of the resources that it is nested in, outermost first. ``rows`` are those of all stacks
    by the stack's id; the id of a nested stack is that of its row in the parent stack.
    """
    for row in rows.get(stack_id, ()):
        yield within, row
        if depth > 0:
            yield from in_tree_order(row.id, rows, depth=depth - 1, within=(*within, row.name))
