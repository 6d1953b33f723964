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
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.rows import namedtuple_row
from rich.console import Console
from rich.table import Table

from orchestrator.store import migrations
from tests.faults.installation import Installation
from tests.keys import provided_keys
from tests.load import book
from tests.load.actor import DELETED, Actor
from tests.load.verdict import LOG_LINE_PREFIX, restless, statement_errors, tracebacks, wrong_state
from tests.services.engine import EngineProcess, running
from tests.services.servers import PostgresServer, RedisServer

ROOT: Final = Path(__file__).parents[2]
PROCESSES: Final = [
    [kind, "--concurrency", concurrency, "--name", f"{kind}{number}"]
    for kind, concurrency in (("coordinator", "1"), ("worker", "2"))
    for number in range(4)
]
#: A short lease would measure the machine.
SETTINGS: Final = {"LEASE_SECONDS": "30", "JOB_LEASE_SECONDS": "60", "REDELIVER_SECONDS": "5"}
#: How long nothing may come to an end, after the load, until what is left is taken to hang.
PATIENCE_SECONDS: Final = 180.0
PROGRESS_SECONDS: Final = 10.0
DEADLOCKS: Final = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
#: What is counted in the end, as SQL.
FIGURES: Final = {
    "stacks": "SELECT count(*) FROM stack WHERE parent_id IS NULL",
    "nested stacks": "SELECT count(*) FROM stack WHERE parent_id IS NOT NULL",
    "operations": "SELECT count(*) FROM traversal",
    "events": "SELECT count(*) FROM event",
    "attempts lost": "SELECT count(*) FROM event WHERE cause = 'lost'",
    "retries": "SELECT count(*) FROM event WHERE cause = 'retry'",
    "deadlocks": DEADLOCKS,
}

say = Console(stderr=True, highlight=False, soft_wrap=True).print


class Load:
    """An installation on real servers, and the actors that keep it busy."""

    def __init__(self, stack: ExitStack, *, seed: int, actors: int) -> None:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isotherm-soak-")))
        plugins, self.book = directory / "plugins", directory / "book"
        self.book.mkdir()
        book.install(plugins)
        os.environ[book.BOOK] = str(self.book)
        sys.path.insert(0, str(plugins))
        options = {"log_line_prefix": LOG_LINE_PREFIX, "max_connections": "300"}
        self.postgres = stack.enter_context(PostgresServer.start(settings=options))
        redis = stack.enter_context(RedisServer.start())
        url = self.postgres.create_database("soak")
        migrations.upgrade(url)
        self.installation = Installation(directory, broker_url=redis.url, database_url=url)
        self.service = stack.enter_context(self.installation.service)
        settings = {f"ISOTHERM_{name}": value for name, value in SETTINGS.items()}
        paths = {book.BOOK: str(self.book), "PYTHONPATH": f"{plugins}:{ROOT}"}
        self.installation.environment.update({**settings, **paths})
        processes = [self._start(*words) for words in PROCESSES]
        self.engines: list[EngineProcess] = stack.enter_context(running(processes))
        self.database: psycopg.Connection[Any] = stack.enter_context(self.postgres.connect("soak"))
        self.database.row_factory = namedtuple_row
        self.actors = [Actor(self.service, f"s{number}", seed) for number in range(actors)]

    def _start(self, *words: str) -> "subprocess.Popen[str]":
        """Start a process in a session of its own, which a Ctrl-C at the terminal does not reach."""
        return subprocess.Popen(
            ["setpriv", "--pdeathsig=SIGTERM", "--", Path(sys.executable).with_name("isotherm"), *words],
            cwd=self.installation.directory,
            env=self.installation.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, minutes: float) -> None:
        """Keep the actors going for so long, or until Ctrl-C."""
        over = threading.Event()
        threads = [threading.Thread(target=each.run, args=(over.is_set,)) for each in self.actors]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 60 * minutes
        with suppress(KeyboardInterrupt):
            while (left := until - time.monotonic()) > 0:
                self._show(f"{left / 60:.1f} minutes left")
                over.wait(min(left, PROGRESS_SECONDS))
        over.set()
        for thread in threads:
            thread.join()

    def settle(self) -> None:
        """Wait until all is at rest, with signals for what waits for them, or nothing has happened for too long."""
        events, since = -1, time.monotonic()
        while (left := list(restless(self.database))) and time.monotonic() - since < PATIENCE_SECONDS:
            if (now := self._number(FIGURES["events"])) != events:
                events, since = now, time.monotonic()
            for actor in self.actors:
                for life in actor.lives:
                    if not self.service.progress(life.id).finished:
                        actor.signal(life)
            self._show(f"waiting: {left[0]}")
            time.sleep(1)

    def delete_all(self) -> None:
        """Delete what stacks are left, as their last operation."""
        for actor in self.actors:
            for life in actor.lives:
                if life.states != DELETED:
                    actor.delete(life)

    def wrong(self) -> Iterator[str]:
        """Yield what has not come to rest, or not ended right."""
        yield from restless(self.database)
        lives = [life for actor in self.actors for life in actor.lives]
        yield from wrong_state(self.service, lives, self.book, self.database)

    def figures(self) -> dict[str, int]:
        """Return what was done."""
        done = sum((actor.done for actor in self.actors), Counter[str]())
        return {name: self._number(sql) for name, sql in FIGURES.items()} | dict(sorted(done.items()))

    def _number(self, sql: str) -> int:
        row = self.database.execute(sql.encode()).fetchone()
        assert row is not None
        return int(row[0])

    def _show(self, what: str) -> None:
        done = sum(actor.done.total() for actor in self.actors)
        operations, deadlocks = self._number(FIGURES["operations"]), self._number(DEADLOCKS)
        say(f"{what}; {done} jobs, {operations} operations, {deadlocks} deadlocks")


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
            errors, figures["expected errors of statements"] = statement_errors(
                load.postgres.directory / "server.log"
            )
            problems += errors
    except AssertionError as error:
        # A process that did not start, or ended otherwise than in good order.
        problems.append(str(error))
    return figures, problems + (["there were deadlocks"] if figures.get("deadlocks") else [])


def main() -> int:
    """Run the load, and print the result; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long the load lasts")
    parser.add_argument("--seed", type=int, default=1, help="what the actors do")
    parser.add_argument("--actors", type=int, default=8, help="how many stacks there are at once")
    parser.add_argument("-f", "--format", choices=("table", "json"), default="table")
    given = parser.parse_args()
    figures, problems = run(given.minutes, given.seed, given.actors)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if given.format == "json":
        console.print(json.dumps({"figures": figures, "problems": problems}, indent=2))
        return int(bool(problems))
    table = Table("what", "number")
    for name, number in figures.items():
        table.add_row(name, str(number))
    console.print(table, *(f"WRONG: {each}" for each in problems), sep="\n")
    console.print(f"{len(problems)} things are wrong" if problems else "everything ended right")
    return int(bool(problems))


if __name__ == "__main__":
    with provided_keys():
        code = main()
    sys.exit(code)
