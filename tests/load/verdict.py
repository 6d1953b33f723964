"""The verdict on a load: what is wrong with stacks, files, the state of record, the database's log and processes."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import psycopg

from orchestrator.service import Service
from tests.load.actor import Life
from tests.load.book import VIOLATIONS
from tests.services.engine import EngineProcess
from tests.services.servers import PostgresServer

#: What every line of PostgreSQL's log begins with.
LOG_LINE_PREFIX: Final = "%m [%p] %e "
#: Errors of statements that are part of the design, by SQLSTATE and what their line contains.
EXPECTED_ERRORS: Final = (
    ("40001", "could not serialize access"),
    # Clients that come while the server starts.
    ("57P03", "starting up"),
    # Two stacks of one name, of which the second is refused.
    ("23505", "ux_stack_name"),
)
COMPLETE: Final = (
    "CREATE_COMPLETE",
    "UPDATE_COMPLETE",
    "CHECK_COMPLETE",
    "SUSPEND_COMPLETE",
    "RESUME_COMPLETE",
)
#: What must not be there once nothing is due any more, as SQL.
AT_REST: Final = {
    "an operation never ends": "SELECT s.name FROM traversal t JOIN stack s ON s.id = t.stack_id "
    "WHERE t.status = 'IN_PROGRESS'",
    "an end was never finished": "SELECT s.name FROM node n JOIN traversal t ON t.id = n.traversal_id "
    "JOIN stack s ON s.id = t.stack_id WHERE n.phase = 'end' AND n.state <> 'done'",
    "a resource is locked": "SELECT name FROM resource WHERE lock_traversal IS NOT NULL",
    "a node runs": "SELECT key FROM node WHERE state = 'running'",
    "an operation of lifecycle plugins is open": "SELECT stack FROM operation WHERE state <> 'over'",
}
ENTRIES: Final = (
    "SELECT r.id, r.name, r.action, r.status, r.physical_id, r.stack_id, s.root_id "
    "FROM resource r JOIN stack s ON s.id = r.stack_id WHERE r.type = 'Load::Entry'"
)


def wrong_stacks(service: Service, lives: Sequence[Life], book: Path, database: Any) -> Iterator[str]:
    """Yield what is wrong with stacks, by what was done with them."""
    said = contents(book)
    rows = defaultdict(list)
    for row in database.execute(ENTRIES):
        if (row.action, row.status) != ("DELETE", "COMPLETE"):
            rows[row.root_id].append(row)
    for life in lives:
        stack = service.stack(life.id)
        if life.states is not None and stack.state not in life.states:
            wanted = " or ".join(sorted(life.states))
            yield f"stack {stack.name}: expected {wanted}, found {stack.state} ({stack.reason}); did {life.past}"
        elif life.definition is not None and not life.definition.fails and stack.state in COMPLETE:
            mine = [row for row in rows[life.id] if row.stack_id == life.id]
            found = {row.name: said.get(row.physical_id, {}).get("value") for row in mine}
            if found != dict(life.definition.values):
                yield f"stack {stack.name}: expected {life.definition.values}, found {found}; did {life.past}"
            if len(rows[life.id]) != life.definition.files:
                number = f"expected {life.definition.files} files, found {len(rows[life.id])}"
                yield f"stack {stack.name}: {number}; did {life.past}"


def wrong_files(book: Path, database: Any) -> Iterator[str]:
    """Yield where files and rows do not know of each other."""
    files, rows = contents(book), {row.id: row for row in database.execute(ENTRIES)}
    for row in rows.values():
        gone = (row.action, row.status) == ("DELETE", "COMPLETE")
        sound = row.status == "COMPLETE" and row.action not in ("INIT", "DELETE")
        if sound and row.physical_id not in files:
            yield f"{row.name} ({row.id}) is {row.action}_{row.status} and has no file"
        if gone and row.id in files:
            yield f"{row.name} ({row.id}) is deleted and its file is left"
    yield from (f"no row knows of the file {each}" for each in files.keys() - rows.keys())
    violations = book / VIOLATIONS
    if violations.exists():
        yield from violations.read_text().splitlines()


def contents(book: Path) -> dict[str, Any]:
    """Return what all files say, by row."""
    return {path.stem: json.loads(path.read_text()) for path in book.glob("*.json")}


def restless(database: Any) -> Iterator[str]:
    """Yield what has not come to rest."""
    for what, sql in AT_REST.items():
        found = sorted({str(row[0]) for row in database.execute(sql)})
        if found:
            yield f"{what}: {', '.join(found[:5])} ({len(found)})"


def statement_errors(server: PostgresServer) -> tuple[list[str], int]:
    """Return the unexpected errors in the server's log, and the number of the expected ones."""
    unexpected, expected = [], 0
    lines = (server.directory / "server.log").read_text(errors="replace").splitlines()
    for number, line in enumerate(lines):
        found = re.search(r"\[\d+\] (\w{5}) (ERROR|FATAL|PANIC): ", line)
        if not found:
            continue
        if any(found[1] == code and text in line for code, text in EXPECTED_ERRORS):
            expected += 1
        else:
            unexpected.append("\n".join(lines[number : number + 6]))
    return unexpected, expected


def tracebacks(engines: Sequence[EngineProcess]) -> Iterator[str]:
    """Yield the beginning of each traceback that a process has logged."""
    for engine in engines:
        lines = engine.log.splitlines()
        for number, line in enumerate(lines):
            if "Traceback (most recent call last)" in line:
                yield "\n".join(lines[max(0, number - 2) : number + 30])


def deadlocks(database: psycopg.Connection[Any]) -> int:
    """Return how many deadlocks PostgreSQL has ended in this database."""
    row = database.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ).fetchone()
    assert row is not None
    return int(row[0])
