"""Where the time of a check goes: calls, processor time and time of each layer, and what the database says of it.

Run as ``python -m tests.bench.profile``. One real worker process carries out a stack of each shape, three times: its
calls are counted, then its processor time is sampled, then all its time. The tables are in Markdown, a resource.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from rich.console import Console
from sqlalchemy import make_url

from tests.bench.layers import CALLS_OF, LAYERS, OTHER
from tests.bench.one_worker import WARM_UP
from tests.keys import others, provided_keys
from tests.services.servers import PostgresServer, RedisServer

#: The layers in the order in which a message meets them.
ORDER: Final = tuple(dict.fromkeys(name for _, name in (*LAYERS.values(), OTHER)))
STATISTICS: Final = "pg_stat_statements"
#: A statement counts once, whatever types its parameters have.
STATEMENTS: Final = """
    SELECT sum(calls), sum(total_exec_time) / sum(calls), sum(wal_bytes) / sum(calls), query FROM pg_stat_statements
    GROUP BY query HAVING sum(calls) >= %s ORDER BY sum(total_exec_time) DESC"""

Costs = Mapping[str, Mapping[str, float]]
say = Console(highlight=False, soft_wrap=True).out


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [list(heads), ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def measured(mode: str, size: int, shapes: Sequence[str], values: Mapping[str, str]) -> Costs:
    """Return the costs of a resource by shape, of a worker process in an environment of these values."""
    command = [sys.executable, "-m", "tests.bench.one_worker", mode, str(size), *shapes]
    environment = {**others(), "ISOTHERM_LOG_LEVEL": "WARNING", **values}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: Costs = json.loads(done.stdout.splitlines()[-1])
    return found


def by_layer(counts: Costs, cpu: Costs, wall: Costs) -> str:
    """Return the table of layers."""
    heads = ["layer", *(f"{shape}: {what}" for shape in counts for what in ("calls", "cpu ms", "ms"))]
    rows = []
    for layer in ORDER:
        cells = [
            (
                counts[shape].get(f"{CALLS_OF} {layer}", 0.0),
                cpu[shape].get(layer, 0.0),
                wall[shape].get(layer, 0.0),
            )
            for shape in counts
        ]
        if any(map(any, cells)):
            rows.append([layer, *_shown(cells)])
    sums = [(counts[shape]["calls"], sum(cpu[shape].values()), sum(wall[shape].values())) for shape in counts]
    return table(heads, [*rows, ["**together**", *_shown(sums)]])


def _shown(cells: Sequence[tuple[float, float, float]]) -> Iterator[str]:
    for calls, cpu, wall in cells:
        yield from (f"{calls:.0f}", f"{cpu * 1000:.2f}", f"{wall * 1000:.2f}")


def by_count(counts: Costs) -> str:
    """Return the table of what is counted."""
    names = [name for name in next(iter(counts.values())) if not name.startswith("calls")]
    return table(
        ["a resource", *counts],
        [
            [name.replace("_", " "), *(f"{costs.get(name, 0):.2f}" for costs in counts.values())]
            for name in names
        ],
    )


def by_statement(postgres: PostgresServer, database: str, shape: str, size: int) -> str:
    """Return the table of the statements that run for at least every tenth resource."""
    with closing(postgres.connect(database)) as connection:
        rows = connection.execute(STATEMENTS, (size // 10,)).fetchall()
    return table(
        [f"{shape}: statement", "a resource", "ms each", "WAL bytes each"],
        [
            # The warm-up was measured as well.
            [
                f"`{' '.join(query.split())[:90]}`",
                f"{float(calls) / (size + WARM_UP[1]):.2f}",
                f"{ms:.3f}",
                f"{wal:.0f}",
            ]
            for calls, ms, wal, query in rows
        ],
    )


def profile(size: int, shapes: Sequence[str], redis: RedisServer, postgres: PostgresServer | None) -> None:
    """Measure, and print the tables."""

    def values() -> dict[str, str]:
        file = Path(directory) / f"{os.urandom(4).hex()}.db"
        url = postgres.create_database() if postgres else f"sqlite:///{file}"
        return {"ISOTHERM_BROKER_URL": redis.empty_database(), "ISOTHERM_DATABASE_URL": url}

    with tempfile.TemporaryDirectory(prefix="isotherm-bench-") as directory:
        counts, cpu, wall = (measured(mode, size, shapes, values()) for mode in ("counts", "cpu", "wall"))
        say(by_layer(counts, cpu, wall), by_count(counts), sep="\n\n")
        if postgres and STATISTICS in postgres.settings.get("shared_preload_libraries", ""):
            for shape in shapes:
                given = values()
                database = str(make_url(given["ISOTHERM_DATABASE_URL"]).database)
                with closing(postgres.connect(database)) as connection:
                    connection.execute(f"CREATE EXTENSION {STATISTICS}")
                    connection.execute(f"SELECT {STATISTICS}_reset()")
                measured("cpu", size, [shape], given)
                say("", by_statement(postgres, database, shape, size), sep="\n")
        elif postgres:
            say(f"\nPostgreSQL has no {STATISTICS} here: install postgresql-contrib for the statements.")


def main() -> None:
    """Start the servers, and profile on them."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.profile", description=__doc__)
    parser.add_argument("--size", type=int, default=1000, help="how many resources")
    parser.add_argument("--shapes", default="wide,layers,chain", help="which shapes, with commas")
    parser.add_argument("--store", default="postgres", choices=["postgres", "sqlite"], help="which database")
    asked = parser.parse_args()
    shapes = asked.shapes.split(",")
    with RedisServer.start() as redis:
        if asked.store == "sqlite":
            profile(asked.size, shapes, redis, None)
            return
        library = PostgresServer.find().parents[1] / "lib" / f"{STATISTICS}.so"
        settings = {"shared_preload_libraries": STATISTICS} if library.exists() else {}
        with PostgresServer.start(durable=True, settings=settings) as postgres:
            profile(asked.size, shapes, redis, postgres)


if __name__ == "__main__":
    with provided_keys():
        main()
