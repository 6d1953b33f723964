"""The tables. Times are seconds since the epoch by the database's clock; ids are UUIDs as text.

Bytes are packed by the codec (msgpack, encrypted where a key is configured), so no value of a stack is readable in
the database by accident. A module is imported when one of its tables is used: a command uses few.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from orchestrator.model.codec import Place
    from orchestrator.store.tables.installation import (
        audit_record,
        cache_counter,
        cache_flush,
        chore,
        delegated_credential,
        identity,
        machine,
        node_counter,
        process,
        project_evaluation,
        project_limit,
        refused_count,
        refused_message,
        reservation,
        sink_cursor,
        software_config,
        software_deployment,
    )
    from orchestrator.store.tables.observations import drift, observation
    from orchestrator.store.tables.outputs import output_reader, output_share
    from orchestrator.store.tables.schema import metadata
    from orchestrator.store.tables.stacks import (
        annotation,
        file,
        is_gone,
        is_partial,
        resource,
        snapshot,
        snapshot_resource,
        stack,
        template,
    )
    from orchestrator.store.tables.traversals import (
        event,
        in_traversal,
        in_traversals,
        job,
        node,
        operation,
        operation_call,
        project_turn,
        step_log,
        taken_job,
        traversal,
        waiting_job,
    )

__all__ = [
    "annotation",
    "audit_record",
    "cache_counter",
    "cache_flush",
    "chore",
    "delegated_credential",
    "drift",
    "event",
    "file",
    "identity",
    "in_traversal",
    "in_traversals",
    "is_gone",
    "is_partial",
    "job",
    "machine",
    "metadata",
    "node",
    "node_counter",
    "observation",
    "operation",
    "operation_call",
    "output_reader",
    "output_share",
    "place_of_node_data",
    "process",
    "project_evaluation",
    "project_limit",
    "project_turn",
    "refused_count",
    "refused_message",
    "reservation",
    "resource",
    "sink_cursor",
    "snapshot",
    "snapshot_resource",
    "software_config",
    "software_deployment",
    "stack",
    "step_log",
    "taken_job",
    "template",
    "traversal",
    "waiting_job",
]

#: Those that most commands use come first.
_MODULES: Final = ("stacks", "outputs", "traversals", "installation", "observations")


#: The condition of textual statements that a resource is deleted; that of SQLAlchemy's is :func:`is_gone`.
IS_GONE: Final = "(resource.action = 'DELETE' AND resource.status = 'COMPLETE')"


def place_of_node_data(no: int, traversal_id: str) -> "Place":
    """Return the place of a node's data; parts of them, in messages, are packed for the same."""
    return "node", "node_data", no, traversal_id


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"there is no table {name!r}")
    # The metadata are of all tables.
    found = None
    for each in _MODULES:
        module = import_module(f"{__name__}.{each}")
        found = getattr(module, name, found)
        if found is not None and name != "metadata":
            break
    globals()[name] = found
    return found
