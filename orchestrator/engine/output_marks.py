"""Marks at the end of an operation: which resources of other stacks have read values that are outdated by now."""

from orchestrator.config.settings import Settings
from orchestrator.store.store import Store
from orchestrator.store.traversals.traversals import ClaimedEnd


def mark_readers(store: Store, settings: Settings, ending: ClaimedEnd) -> None:
    """Mark the resources that read outputs of a stack whose operation is complete: stale if the value is another.

    Of a stack that is deleted, all are stale. A resource that is being changed is stale in any case, as the value that
    it will have is not on record yet: its next update reads the output again, and no more.
    """
    readers = store.output_readers.of_source(ending.stack_id)
    source = store.stacks.by_id(ending.stack_id) if readers else None
    if source is None or source.traversal_id != ending.traversal_id:
        return
    # Outputs of few stacks are read.
    from orchestrator.engine.stack_outputs import present_outputs

    present = {} if source.deleted_at is not None else present_outputs(store, source, settings)
    stale: dict[str, bool] = {}
    for each in readers:
        row, output = store.stacks.row(each.resource_id), present.get(each.output)
        if row is None:
            continue
        is_same = output is not None and not output.error and row.data.get("value") == output.value
        is_at_rest = row.lock_traversal is None and row.status != "IN_PROGRESS"
        stale[each.resource_id] = not (is_same and is_at_rest)
    store.output_readers.mark(source, stale)
