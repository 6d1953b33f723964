"""The tables. Times are seconds since the epoch by the database's clock; ids are UUIDs as text.

Bytes are packed by the codec (msgpack, encrypted where a key is configured), so no value of a stack is readable in
the database by accident.
"""

from orchestrator.store.tables.installation import (
    cache_counter,
    cache_flush,
    chore,
    identity,
    machine,
    node_counter,
    process,
    refused_count,
    refused_message,
    reservation,
    sink_cursor,
)
from orchestrator.store.tables.schema import metadata
from orchestrator.store.tables.stacks import (
    annotation,
    file,
    is_gone,
    resource,
    snapshot,
    snapshot_resource,
    stack,
    template,
)
from orchestrator.store.tables.traversals import (
    OF_TRAVERSAL,
    TRAVERSAL_ID,
    event,
    in_traversal,
    in_traversals,
    job,
    node,
    operation,
    operation_call,
    place_of_node_data,
    project_turn,
    taken_job,
    traversal,
    waiting_job,
)

__all__ = [
    "OF_TRAVERSAL",
    "TRAVERSAL_ID",
    "annotation",
    "cache_counter",
    "cache_flush",
    "chore",
    "event",
    "file",
    "identity",
    "in_traversal",
    "in_traversals",
    "is_gone",
    "job",
    "machine",
    "metadata",
    "node",
    "node_counter",
    "operation",
    "operation_call",
    "place_of_node_data",
    "process",
    "project_turn",
    "refused_count",
    "refused_message",
    "reservation",
    "resource",
    "sink_cursor",
    "snapshot",
    "snapshot_resource",
    "stack",
    "taken_job",
    "template",
    "traversal",
    "waiting_job",
]
