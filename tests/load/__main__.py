"""``make soak MINUTES=30``: coordinators and workers under a mixed load; exits with 1 if anything ended wrong."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.rows import namedtuple_row
from rich.console import Console
from rich.table import Table

from orchestrator.store import migrations
from tests.faults.installation import Installation
from tests.load import book
from tests.load.actor import Actor, Life
from tests.load.verdict import (
    LOG_LINE_PREFIX,
    deadlocks,
    restless,
    statement_errors,
    tracebacks,
    wrong_files,
    wrong_stacks,
)
from tests.services.engine import EngineProcess, running
from tests.services.servers import PostgresServer, RedisServer

ROOT: Final = Path(__file__).parents[2]
PROCESSES: Final = (
    *(("coordinator", "--concurrency", "1", "--name", f"c{number}") for number in range(4)),
    *(("worker", "--concurrency", "2", "--name", f"w{number}") for number in range(4)),
)
#: A short lease would measure the machine.
SETTINGS: Final = {"LEASE_SECONDS": "30", "JOB_LEASE_SECONDS": "60", "REDELIVER_SECONDS": "5"}
#: How long nothing may come to an end, after the load, until what is left is taken to hang.
PATIENCE_SECONDS: Final = 180.0
PROGRESS_SECONDS: Final = 10.0

say = Console(stderr=True, highlight=False).print


class Load:
    """An installation on real servers, and the actors that keep it busy."""

    def __init__(self, stack: ExitStack, *, seed: int, actors: int) -> None:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isotherm-soak-")))
        self.book = directory / "book"
        self.book.mkdir()
        book.install(directory / "plugins")
        os.environ[book.BOOK] = str(self.book)
        sys.path.insert(0, str(directory / "plugins"))
        options = {"log_line_prefix": LOG_LINE_PREFIX, "max_connections": "300"}
        self.postgres = stack.enter_context(PostgresServer.start(settings=options))
        redis = stack.enter_context(RedisServer.start())
        url = self.postgres.create_database("soak")
        migrations.upgrade(url)
        self.installation = Installation(directory, broker_url=redis.url, database_url=url)
        stack.enter_context(self.installation.service)
        environment = self.installation.environment
        environment.update({f"ISOTHERM_{name}": value for name, value in SETTINGS.items()})
        environment |= {book.BOOK: str(self.book), "PYTHONPATH": f"{directory / 'plugins'}:{ROOT}"}
        self.engines: list[EngineProcess] = stack.enter_context(running([self._start(*e) for e in PROCESSES]))
        self.database: psycopg.Connection[Any] = stack.enter_context(
            psycopg.connect(
                host="127.0.0.1",
                port=self.postgres.port,
                user=self.postgres.user,
                dbname="soak",
                autocommit=True,
                row_factory=namedtuple_row,
            )
        )
        self.actors = [Actor(self.installation.service, f"s{number}", seed) for number in range(actors)]
        self._over = threading.Event()

    def _start(self, *words: str) -> "subprocess.Popen[str]":
        """Start a process in a session of its own, which a Ctrl-C at the terminal does not reach."""
        program = str(Path(sys.executable).with_name("isotherm"))
        return subprocess.Popen(
            ["setpriv", "--pdeathsig=SIGTERM", "--", program, *words],
            cwd=self.installation.directory,
            env=self.installation.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    @property
    def lives(self) -> list[Life]:
        """All stacks that there were."""
        return [life for actor in self.actors for life in list(actor.lives)]

    def run(self, minutes: float) -> None:
        """Keep the actors going for so long, or until Ctrl-C."""
        threads = [
            threading.Thread(target=each.run, args=(self._over.is_set,), daemon=True) for each in self.actors
        ]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 60 * minutes
        with suppress(KeyboardInterrupt):
            while (left := until - time.monotonic()) > 0:
                self._over.wait(min(left, PROGRESS_SECONDS))
                self._show(f"{left / 60:.1f} minutes left")
        self._over.set()
        for thread in threads:
            thread.join()

    def settle(self) -> None:
        """Wait until nothing is due, with signals for what waits for them, or nothing has ended for too long."""
        before, since = "", time.monotonic()
        while (left := sorted(restless(self.database))) and time.monotonic() - since < PATIENCE_SECONDS:
            ended = self._number("SELECT count(*) FROM event")
            if f"{ended}" != before:
                before, since = f"{ended}", time.monotonic()
            for actor in self.actors:
                for life in actor.lives:
                    if life.waits and not self.installation.service.progress(life.id).finished:
                        actor.signal(life)
            self._show(f"waiting: {left[0]}")
            time.sleep(1)

    def delete_all(self) -> None:
        """Delete what stacks are left, as their last operation."""
        for actor in self.actors:
            for life in actor.lives:
                if life.states != {"DELETE_COMPLETE"}:
                    actor._delete(life)

    def wrong(self) -> Iterator[str]:
        """Yield what is wrong."""
        yield from restless(self.database)
        yield from wrong_files(self.book, self.database)
        yield from wrong_stacks(self.installation.service, self.lives, self.book, self.database)

    def figures(self) -> dict[str, int]:
        """Return what was done."""
        done, refused = Counter[str](), Counter[str]()
        for actor in self.actors:
            done += actor.done
            refused += actor.refused
        counts = {
            "stacks": "SELECT count(*) FROM stack WHERE parent_id IS NULL",
            "nested stacks": "SELECT count(*) FROM stack WHERE parent_id IS NOT NULL",
            "operations": "SELECT count(*) FROM traversal",
            "events": "SELECT count(*) FROM event",
            "attempts lost": "SELECT count(*) FROM event WHERE cause = 'lost'",
            "retries": "SELECT count(*) FROM event WHERE cause = 'retry'",
        }
        found = {name: self._number(sql) for name, sql in counts.items()}
        refusals = {f"{name} refused": number for name, number in sorted(refused.items())}
        return {**found, **dict(sorted(done.items())), **refusals, "deadlocks": deadlocks(self.database)}

    def _number(self, sql: str) -> int:
        row = self.database.execute(sql.encode()).fetchone()
        assert row is not None
        return int(row[0])

    def _show(self, what: str) -> None:
        done = sum(sum(each.done.values()) for each in self.actors)
        say(f"{what}; {done} jobs done, {len(self.lives)} stacks, {deadlocks(self.database)} deadlocks")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long the load lasts")
    parser.add_argument("--seed", type=int, default=1, help="what the actors do")
    parser.add_argument("--actors", type=int, default=8, help="how many stacks there are at once")
    parser.add_argument("-f", "--format", choices=("table", "json"), default="table")
    return parser.parse_args()


def run(minutes: float, seed: int, actors: int) -> tuple[dict[str, int], list[str]]:
    """Return the figures of a load, and what is wrong after it."""
    figures: dict[str, int] = {}
    problems: list[str] = []
    try:
        with ExitStack() as stack:
            load = Load(stack, seed=seed, actors=actors)
            load.run(minutes)
            load.settle()
            problems += load.wrong()
            load.delete_all()
            load.settle()
            problems += (f"after all deletions: {each}" for each in load.wrong())
            problems += (fault for actor in load.actors for fault in actor.faults)
            problems += tracebacks(load.engines)
            figures = load.figures()
            unexpected, figures["expected statement errors"] = statement_errors(load.postgres)
            problems += unexpected
            if figures["deadlocks"]:
                problems.append(f"PostgreSQL ended {figures['deadlocks']} deadlocks")
    except AssertionError as error:
        # A process that did not start, or ended otherwise than in good order.
        problems.append(str(error))
    return figures, problems


def show(figures: dict[str, int], problems: Sequence[str], *, as_json: bool) -> None:
    """Print the result."""
    if as_json:
        print(json.dumps({"figures": figures, "problems": list(problems)}, indent=2))
        return
    table = Table("what", "number")
    for name, number in figures.items():
        table.add_row(name, str(number))
    console = Console(highlight=False, markup=False)
    console.print(table)
    for problem in problems:
        console.print(f"WRONG: {problem}")
    console.print(f"{len(problems)} things are wrong" if problems else "everything ended right")


if __name__ == "__main__":
    given = arguments()
    result = run(given.minutes, given.seed, given.actors)
    show(*result, as_json=given.format == "json")
    sys.exit(1 if result[1] else 0)
