"""The verdict on a load: what is wrong with stacks, files, the state of record, the database's log and processes."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from orchestrator.service import Service
from tests.load.actor import Life
from tests.load.book import VIOLATIONS
from tests.services.engine import EngineProcess

#: What every line of PostgreSQL's log begins with.
LOG_LINE_PREFIX: Final = "%m [%p] %e "
#: Errors that are part of the design, by SQLSTATE and what their line contains.
EXPECTED_ERRORS: Final = (
    ("40001", "could not serialize access"),
    # Clients that come while the server starts.
    ("57P03", "starting up"),
    # Two stacks of one name, of which the second is refused.
    ("23505", "ux_stack_name"),
)
#: What must not be there once nothing is due any more, as SQL.
AT_REST: Final = {
    "an operation never ends": "SELECT s.name FROM traversal t JOIN stack s ON s.id = t.stack_id "
    "WHERE t.status = 'IN_PROGRESS'",
    "an end was never finished": "SELECT s.name FROM node n JOIN traversal t ON t.id = n.traversal_id "
    "JOIN stack s ON s.id = t.stack_id WHERE n.phase = 'end' AND n.state <> 'done'",
    "a resource is locked": "SELECT name FROM resource WHERE lock_traversal IS NOT NULL",
    "a node runs": "SELECT key FROM node WHERE state = 'running'",
}
ENTRIES: Final = (
    "SELECT r.id, r.name, r.action, r.status, r.stack_id, s.root_id, "
    "r.action = 'DELETE' AND r.status = 'COMPLETE' AS gone "
    "FROM resource r JOIN stack s ON s.id = r.stack_id WHERE r.type = 'Load::Entry'"
)


def restless(database: Any) -> Iterator[str]:
    """Yield what has not come to rest."""
    for what, sql in AT_REST.items():
        found = sorted({str(row[0]) for row in database.execute(sql)})
        if found:
            yield f"{what}: {', '.join(found[:5])} ({len(found)})"


def wrong_state(service: Service, lives: Sequence[Life], book: Path, database: Any) -> Iterator[str]:
    """Yield what is wrong with stacks, by what was done with them, and with files, by what rows say."""
    files = {path.stem: json.loads(path.read_text()) for path in book.glob("*.json")}
    rows = {row.id: row for row in database.execute(ENTRIES)}
    for life in lives:
        state, reason = (stack := service.stack(life.id)).state, stack.reason
        living = [row for row in rows.values() if row.root_id == life.id and not row.gone]
        if life.states is not None and state not in life.states:
            yield f"{stack.name}: expected {sorted(life.states)}, found {state} ({reason}); did {life.past}"
        elif life.definition is not None and not life.definition.fails and state.endswith("_COMPLETE"):
            found = {
                row.name: files.get(row.id, {}).get("value") for row in living if row.stack_id == life.id
            }
            expected = dict(life.definition.values), life.definition.files
            if (found, len(living)) != expected:
                yield f"{stack.name}: expected {expected}, found {(found, len(living))}; did {life.past}"
    for row in rows.values():
        if row.status == "COMPLETE" and row.action != "INIT" and row.gone == (row.id in files):
            there = "is left" if row.gone else "is missing"
            yield f"{row.name} ({row.id}) is {row.action}_{row.status} and its file {there}"
    yield from (f"no row knows of the file {each}" for each in files.keys() - rows.keys())
    if (book / VIOLATIONS).exists():
        yield from (book / VIOLATIONS).read_text().splitlines()


def statement_errors(log: Path) -> tuple[list[str], int]:
    """Return the unexpected errors in PostgreSQL's log, and the number of the expected ones."""
    unexpected, expected = [], 0
    lines = log.read_text(errors="replace").splitlines()
    for number, line in enumerate(lines):
        if not (found := re.search(r"\[\d+\] (\w{5}) (ERROR|FATAL|PANIC): ", line)):
            continue
        if any(found[1] == code and text in line for code, text in EXPECTED_ERRORS):
            expected += 1
        else:
            unexpected.append("\n".join(lines[number : number + 6]))
    return unexpected, expected


def tracebacks(engines: Sequence[EngineProcess]) -> Iterator[str]:
    """Yield each traceback that a process has logged."""
    for lines in (engine.log.splitlines() for engine in engines):
        for number, line in enumerate(lines):
            if "Traceback (most recent call last)" in line:
                yield "\n".join(lines[max(0, number - 2) : number + 30])
