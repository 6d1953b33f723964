"""What lifecycle plugins and event sinks cost: a stack with all that ship at work, and the same one without.

Run as ``python -m tests.bench.hooks``, or by ``make bench``. A coordinator, a worker of two processes, PostgreSQL and
Redis, and HTTP servers on loopback for those plugins and sinks that call one. Runs with and without come by turns, and
the best of each counts. What the plugins' calls took by themselves is on record and told apart.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.bench.installation import environment, wait_until
from tests.bench.shapes import template
from tests.services.asking import Asking
from tests.services.engine import running
from tests.services.licence_server import SECRET, LicenceServer
from tests.services.receiver import Receiver
from tests.services.servers import PostgresServer, RedisServer

RESULT: Final = Path("build") / "bench-hooks.json"
WORKERS: Final = 2
RUNS: Final = 6
#: How many rules ``policy`` has.
RULES: Final = 20
NOTHING, PLUGINS, ALL = "nothing", "plugins", "plugins and sinks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a stack costs."""

    hooks: str
    n: int
    #: From the job to the end of the stack, with what plugins are told afterwards.
    seconds: float
    #: What the plugins' own calls took of that.
    calls_seconds: float
    #: The names of the plugins that were asked and told.
    plugins: tuple[str, ...]


class Bench:
    """Servers, for one installation after the other."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        """Start them; ``stack`` ends them."""
        self._directory = directory
        self._redis = stack.enter_context(RedisServer.start())
        self._postgres = stack.enter_context(PostgresServer.start(durable=True))
        self._receiver = stack.enter_context(Receiver())
        self._licences = stack.enter_context(LicenceServer({"OS::Heat::None": 1_000_000}))

    def run(self, size: int, hooks: str) -> Cost:
        """Create a stack on a fresh installation."""
        self._redis.flush()
        url = self._postgres.create_database()
        migrations.upgrade(url)
        directory = Path(tempfile.mkdtemp(dir=self._directory))
        asking = Asking(
            directory / "asking",
            clients={},
            broker_url=self._redis.url,
            database_url=url,
            lifecycle=self._plugins(directory) if hooks != NOTHING else {},
            event_sinks=self._sinks(directory) if hooks == ALL else {},
        )
        worker = asking.start("worker", "--concurrency", str(WORKERS))
        processes = [asking.start("coordinator", "--concurrency", "1"), worker]
        ours = {name: value for name, value in asking.environment.items() if name.startswith("ISOTHERM_")}
        with running(processes), environment(ours), Service.open(load_settings()) as service:
            self._to_its_end(service, "warm-up", 20)
            seconds, calls = self._to_its_end(service, "measured", size)
        return Cost(
            hooks=hooks,
            n=size,
            seconds=seconds,
            calls_seconds=sum((each.asked_seconds or 0) + (each.told_seconds or 0) for each in calls),
            plugins=tuple(each.plugin for each in calls),
        )

    def _plugins(self, directory: Path) -> Mapping[str, Any]:
        rules = directory / "rules.yaml"
        rules.write_text(json.dumps({"rules": [_rule(number) for number in range(RULES)]}))
        return {
            "limits": {"enabled": True, "resources": 100_000, "types": {"OS::*": 100_000}},
            "policy": {"enabled": True, "files": [str(rules)]},
            "license": {
                "enabled": True,
                "url": self._licences.url,
                "secrets": [SECRET],
                "types": ["OS::Heat::*"],
            },
            "webhook": {"enabled": True, "url": self._receiver.url, "secrets": [SECRET]},
        }

    def _sinks(self, directory: Path) -> Mapping[str, Any]:
        return {
            "log": {"enabled": True, "file": str(directory / "events.jsonl")},
            "broker": {"enabled": True, "url": self._redis.url_of(2)},
            "webhook": {"enabled": True, "url": self._receiver.url, "secrets": [SECRET]},
            "prometheus": {"enabled": True, "textfile": str(directory / "isotherm.prom")},
        }

    @staticmethod
    def _to_its_end(service: Service, name: str, size: int) -> tuple[float, Sequence[Any]]:
        started = time.perf_counter()
        stack = service.create(StackJob(name=name, template=template("wide", size)))
        (traversal,) = service.history(stack.id)

        def over() -> bool:
            # Its last words are said too, whoever hears them.
            return service.progress(stack.id).finished and service._store.traversals.is_end_finished(
                traversal.id
            )

        wait_until(over, pause_seconds=0.02)
        seconds = time.perf_counter() - started
        if (state := service.stack(stack.id).state) != "CREATE_COMPLETE":
            raise SystemExit(f"the stack ended {state}")
        return seconds, service.traversal(stack.id, traversal.id).plugins


def _rule(number: int) -> Mapping[str, Any]:
    forbidden = {"property": f"property_{number}", "contains": "x"}
    return {"name": f"rule-{number}", "types": "OS::Heat::*", "forbid": forbidden}


def measure(size: int, runs: int) -> Iterator[Cost]:
    """Yield what a stack costs, without hooks, with plugins, and with sinks besides, by turns."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isotherm-bench-")))
        bench = Bench(directory, stack)
        for _ in range(runs):
            for hooks in (NOTHING, PLUGINS, ALL):
                yield bench.run(size, hooks)


def shares(costs: Sequence[Cost]) -> dict[str, float]:
    """Return, by what was at work, how much longer a stack took than without, apart from the calls' own time.

    As a part of the time without; the best run of each counts, for whatever else the machine does only adds to them.
    """
    without = min(cost.seconds for cost in costs if cost.hooks == NOTHING)
    best = {
        hooks: min(cost.seconds - cost.calls_seconds for cost in costs if cost.hooks == hooks)
        for hooks in (PLUGINS, ALL)
    }
    return {hooks: (seconds - without) / without for hooks, seconds in best.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and keep the rows."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hooks", description=__doc__)
    parser.add_argument("--size", type=int, default=1000, help="how many resources the stack has")
    parser.add_argument("--runs", type=int, default=RUNS, help="how often each is measured")
    asked = parser.parse_args(arguments)
    say = partial(Console(highlight=False).print, soft_wrap=True)
    say("hooks: a stack with all plugins and sinks that ship, and without")
    costs = []
    for cost in measure(asked.size, asked.runs):
        costs.append(cost)
        say(
            f"{cost.hooks}: {cost.seconds:.2f} s, {cost.calls_seconds:.2f} s of them the calls of {len(cost.plugins)}"
        )
    found = shares(costs)
    for hooks, share in found.items():
        say(f"n {asked.size}: with {hooks} it takes {share:+.1%}, apart from the calls' own time")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(
        json.dumps({"costs": [asdict(cost) for cost in costs], "shares": found}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
