"""Rows for every table that has something encrypted in it, two of each, with values that tell whose they are."""

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from orchestrator.model.codec import Codec, Place
from orchestrator.model.messages import CONVERGE
from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.tables.schema import Sentence

PACKED = [
    column
    for table in tables.metadata.sorted_tables
    for column in table.c
    if isinstance(column.type, sa.LargeBinary)
]
#: The values of two rows' columns that matter to who reads them, by table; ``{}`` stands for the row.
ROWS: Mapping[str, Mapping[str, Any]] = {
    "stack": {"id": "stack-{}", "name": "stack-{}", "project": "project-{}", "traversal_id": "traversal-{}"},
    "resource": {"id": "resource-{}", "stack_id": "stack-{}", "name": "it", "physical_id": "physical-{}"}
    | {"action": "CREATE", "status": "IN_PROGRESS", "started_at": 5.0, "planned_traversal": "traversal-{}"}
    | {"planned_no": 1, "applied_traversal": "traversal-{}", "applied_no": 1},
    "node": {"no": 1, "traversal_id": "traversal-{}", "key": "it", "phase": CONVERGE, "action": "CREATE"}
    | {"resource_id": "resource-{}", "state": "ready", "remaining": 0, "requirements": "[1]"},
    "traversal": {"id": "traversal-{}", "stack_id": "stack-{}", "status": "IN_PROGRESS"},
    "step_log": {
        "traversal_id": "traversal-{}",
        "no": 1,
        "attempt": 1,
        "stack_id": "stack-{}",
        "resource": "it",
    }
    | {"at": 5.0e9},
    "template": {"id": "template-{}"},
    "file": {"id": "file-{}"},
    "snapshot": {"id": "snapshot-{}", "stack_id": "stack-{}", "traversal_id": "gone"},
    "snapshot_resource": {"snapshot_id": "snapshot-{}", "name": "it"},
    "annotation": {"stack_id": "stack-{}", "plugin": "plugin", "resource": "it"},
    "job": {"id": "job-{}", "status": "refused"},
    "project_turn": {"project": "project-{}"},
    "waiting_job": {"id": "waiting-{}", "project": "project-{}", "no": 1, "due_at": 0.0},
    "operation": {"id": "operation-{}", "cause": "cause-{}", "state": "under_way", "attempt": 1},
    "operation_call": {"operation_id": "operation-{}", "position": 0, "state": "agreed"},
    "sink_cursor": {"name": "sink-{}", "due_at": 0.0, "position": 0},
    "delegated_credential": {"id": "credential-{}", "project": "p", "client": "shelf"},
    "event": {"stack_id": "stack-{}"},
    "observation": {"stack_id": "stack-{}"},
    "drift": {"resource_id": "resource-{}", "key": "size", "stack_id": "stack-{}", "root_id": "stack-{}"}
    | {"standing": "reported"},
    "machine": {"name": "machine-{}"},
    "refused_message": {"place": "place-{}"},
    "software_config": {"id": "config-{}", "project": "p"},
    "software_deployment": {"id": "deployment-{}", "project": "p"},
}
#: What is stored in both rows; each has a text of its own in it.
VALUES: Mapping[str, Callable[[str], Any]] = {
    "content": str,
    "body": lambda own: [own, "file", [], [], []],
    "attributes": lambda own: [[["it"], own]],
    "reference_id": str,
    "token": lambda own: [own, None],
    "needs": lambda own: [[[own]]],
    "node_data": lambda own: ["id", own, "CREATE", "COMPLETE", "p", "r", [[[own], own]]],
    "wanted": lambda own: [[own]],
    "state": lambda own: own.encode(),
    "annotations": lambda own: {"it": {"own": own}},
    "finding": lambda own: {"recorded": own, "observed": None, "hidden": False},
    "lines": lambda own: {"lines": [[5.0, "info", own]], "left_out": 0},
    "definition": lambda own: {"config": own, "inputs": [], "outputs": [], "options": {}},
}


def own_text(row: str) -> str:
    return f"secret of {row}"


def packed_value(column: str, row: str) -> Any:
    """Return what is stored in a packed column of a row."""
    own = own_text(row)
    return VALUES[column](own) if column in VALUES else {"own": own}


def place_of(table: sa.Table, column: str, values: Mapping[str, Any]) -> Place:
    """Return the place of a packed column of a row with these values."""
    return (table.name, column, *(values[key.name] for key in table.primary_key))


def write_rows(database: Database, pack: Callable[[object, Place], bytes]) -> None:
    """Insert both rows of every table, with something in every encrypted column."""
    for name, values in ROWS.items():
        for row in ("a", "b"):
            write_row(database, pack, tables.metadata.tables[name], values, row)


def write_row(
    database: Database,
    pack: Callable[[object, Place], bytes],
    table: sa.Table,
    values: Mapping[str, Any],
    row: str,
) -> None:
    """Insert a row, with something in every encrypted column and in all that must not be empty."""
    plain = {name: value.format(row) if isinstance(value, str) else value for name, value in values.items()}
    for column in table.c:
        if isinstance(column.type, sa.LargeBinary):
            plain[column.name] = pack(packed_value(column.name, row), place_of(table, column.name, plain))
        elif isinstance(column.type, Sentence):
            plain[column.name] = own_text(row)
        elif not (
            column.name in plain or column.nullable or column.server_default or column.autoincrement is True
        ):
            is_text = isinstance(column.type, sa.Text | sa.types.TypeDecorator)
            plain[column.name] = "" if is_text else 0
    with database.write() as connection:
        connection.execute(table.insert().values(plain))


def everything(database: Database, codec: Codec) -> dict[str, list[Any]]:
    """Return what is in every encrypted column, by its name, sorted as texts.

    Raises:
        IsothermError: something cannot be read.
    """
    found: dict[str, list[Any]] = {}
    for table in tables.metadata.sorted_tables:
        for row in database.rows(sa.select(table)):
            for column in table.c:
                stored = getattr(row, column.name)
                if isinstance(column.type, sa.LargeBinary) and stored is not None:
                    value = codec.unpack(stored, place_of(table, column.name, row._asdict()))
                elif isinstance(column.type, Sentence):
                    value = stored
                else:
                    continue
                found.setdefault(f"{table.name}.{column.name}", []).append(value)
    return {name: sorted(values, key=repr) for name, values in found.items()}
