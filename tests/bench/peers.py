"""The same shapes carried out by others: Celery, Celery's canvas, Terraform or OpenTofu, and Isotherm, in one run.

Run as ``python -m tests.bench.peers``. Celery's tasks only count up, and know nothing of each other; its canvas carries
out the shape, layers with a barrier after each, as it has no other dependencies. Terraform applies resources of the
type ``terraform_data``. What is a command counts from its start to its end, the others from the submission.
"""

import argparse
import compileall
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from celery import chain, group
from rich.console import Console

from orchestrator.config.settings import load_settings
from orchestrator.queue.celery_app import default_app
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.bench.installation import CONCURRENCY, environment, isotherm, processes, stack_seconds
from tests.bench.noop import CANVAS, NOOP_TASK, PLAIN_CELERY, UNDER_OUR_SETTINGS
from tests.bench.profile import table
from tests.bench.running_celery import RunningCelery, Took
from tests.bench.shapes import SHAPES, template
from tests.keys import others, provided_keys
from tests.services.servers import PostgresServer, RedisServer

RESULT: Final = Path("build") / "bench-peers.json"
ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = [ROOT / name for name in ("isotherm", "orchestrator", "workers", "cache", "hooks")]
DISTRIBUTED, EMBEDDED = "isotherm, PostgreSQL + Redis", "isotherm, embedded"
#: The commands that carry out Terraform's configurations, the first that is installed.
TERRAFORM: Final = ("terraform", "tofu")

say = Console(stderr=True, highlight=False, soft_wrap=True).print
Shape = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one of them came to for one shape."""

    peer: str
    shape: str
    n: int
    seconds: float
    #: Processor time of workers and commands a resource, in milliseconds; the servers' is not counted.
    cpu_ms: float
    #: How many times as fast as this Isotherm is, distributed and embedded.
    distributed_is_times: float = 0.0
    embedded_is_times: float = 0.0


def result(peer: str, shape: Shape, took: Took) -> Result:
    """Return the result of a run."""
    name, size = shape
    return Result(peer=peer, shape=name, n=size, seconds=took.seconds, cpu_ms=took.cpu_seconds / size * 1000)


def by_celery(case: str, shapes: Sequence[Shape], url: str, log: Path) -> Iterator[Result]:
    """Run as many tasks as each shape has resources, or the canvas of the shape."""
    with RunningCelery.start(case, url, log) as celery:
        celery.run_alone(100)
        for shape, size in shapes:
            if case == CANVAS:
                took = celery.run(canvas(celery, shape, size), size)
            else:
                took = min(celery.run_alone(size) for _ in range(2))
            yield result(case, (shape, size), took)


def canvas(celery: RunningCelery, shape: str, size: int) -> Any:
    """Return a function that sends the canvas of a shape."""
    task = celery.app.tasks[NOOP_TASK]
    width = max(1, size // 10)
    if shape == "layers":
        # Only what has results can be waited for.
        layers = (group(task.si() for _ in range(width)) for _ in range(size // width))
        return chain(*layers).apply_async
    tasks = [task.si().set(ignore_result=True) for _ in range(size)]
    return (chain(*tasks) if shape == "chain" else group(tasks)).apply_async


def command_took(command: Sequence[str], directory: Path, values: Mapping[str, str]) -> Took:
    """Run a command, and return how long it took.

    Raises:
        SystemExit: it failed.
    """
    variables = {**others(), **values}
    # An installation has its compiled files on disk; without them, each command would compile all of the source.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=directory, env=variables, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return Took(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def configuration(shape: str, size: int) -> str:
    """Return Terraform's configuration of a shape."""
    requires = SHAPES[shape]
    blocks = []
    for number in range(size):
        others = ", ".join(f"terraform_data.r{other}" for other in requires(number, size))
        depends = f"depends_on = [{others}]" if others else ""
        blocks.append(f'resource "terraform_data" "r{number}" {{ {depends} }}')
    return "\n".join([*blocks, ""])


def by_terraform(shapes: Sequence[Shape], directory: Path) -> Iterator[Result]:
    """Apply the configuration of each shape, in a new directory."""
    program = next(filter(None, map(shutil.which, TERRAFORM)), None)
    if program is None:
        say(f"{' or '.join(TERRAFORM)}: not installed, and so not measured")
        return
    for shape, size in shapes:
        own = directory / f"terraform-{shape}-{size}"
        own.mkdir()
        (own / "main.tf").write_text(configuration(shape, size))
        values = {"CHECKPOINT_DISABLE": "1"}
        command_took([program, "init", "-no-color"], own, values)
        took = command_took([program, "apply", "-auto-approve", "-no-color"], own, values)
        yield result(Path(program).name, (shape, size), took)


def by_isotherm_embedded(shapes: Sequence[Shape], directory: Path) -> Iterator[Result]:
    """Create a stack of each shape by one command, on a new SQLite file."""
    for package in PACKAGES:
        # As pip does when it installs one.
        compileall.compile_dir(package, quiet=1)
    for shape, size in shapes:
        own = directory / f"isotherm-{shape}-{size}"
        own.mkdir()
        (own / "stack.yaml").write_text(template(shape, size))
        values = {"ISOTHERM_STATE_DIRECTORY": str(own / "state")}
        # As with Terraform, what is only made once is there already.
        command_took(isotherm("stack", "list"), own, values)
        took = command_took(isotherm("stack", "create", shape, "-t", "stack.yaml"), own, values)
        yield result(EMBEDDED, (shape, size), took)


def by_isotherm(shapes: Sequence[Shape], log: Path) -> Iterator[Result]:
    """Create a stack of each shape with a coordinator and a worker of two processes."""
    worker = isotherm("worker", "--concurrency", str(CONCURRENCY))
    coordinator = isotherm("coordinator", "--concurrency", "1")
    with processes(worker, coordinator, log=log) as running, Service.open(load_settings()) as service:
        stack_seconds(service, "warm-up", "wide", 50)
        for shape, size in shapes:
            used = running.cpu_seconds()
            seconds = stack_seconds(service, f"{shape}-{size}", shape, size)
            yield result(DISTRIBUTED, (shape, size), Took(seconds, running.cpu_seconds() - used))


def measure(shapes: Sequence[Shape], directory: Path) -> Iterator[Result]:
    """Yield what each of them came to."""
    log = directory / "log"
    yield from by_isotherm_embedded(shapes, directory)
    yield from by_terraform(shapes, directory)
    with ExitStack() as servers:
        redis = servers.enter_context(RedisServer.start())
        postgres = servers.enter_context(PostgresServer.start(durable=True))
        values = {
            "ISOTHERM_BROKER_URL": redis.empty_database(),
            "ISOTHERM_DATABASE_URL": postgres.create_database(),
            "ISOTHERM_LOG_LEVEL": "WARNING",
        }
        default_app.cache_clear()
        servers.enter_context(environment(values))
        migrations.upgrade(load_settings().effective_database_url)
        for case in (PLAIN_CELERY, CANVAS):
            yield from by_celery(case, shapes, redis.empty_database(), log)
        yield from by_celery(UNDER_OUR_SETTINGS, shapes, values["ISOTHERM_BROKER_URL"], log)
        yield from by_isotherm(shapes, log)


def compared(results: Sequence[Result]) -> list[Result]:
    """Return the results with how many times as fast Isotherm is, sorted by shape."""
    seconds = {(each.peer, each.shape, each.n): each.seconds for each in results}

    def times(own: str, each: Result) -> float:
        return round(each.seconds / seconds[own, each.shape, each.n], 2)

    return sorted(
        (
            replace(
                each, distributed_is_times=times(DISTRIBUTED, each), embedded_is_times=times(EMBEDDED, each)
            )
            for each in results
        ),
        key=lambda each: (each.n, list(SHAPES).index(each.shape)),
    )


def shown(results: Sequence[Result]) -> str:
    """Return the results as a table in Markdown."""
    heads = (
        "shape",
        "n",
        "by",
        "seconds",
        "a second",
        "cpu ms each",
        "distributed: times",
        "embedded: times",
    )
    rows = [
        (
            *(each.shape, each.n, each.peer, f"{each.seconds:.2f}", f"{each.n / each.seconds:.0f}"),
            *(f"{each.cpu_ms:.2f}", f"{each.distributed_is_times:.2f}", f"{each.embedded_is_times:.2f}"),
        )
        for each in results
    ]
    return table(heads, rows)


def main() -> None:
    """Measure, print and keep the results."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=__doc__)
    parser.add_argument("--sizes", default="100,1000", help="numbers of resources, with commas")
    parser.add_argument("--shapes", default="wide,layers,chain", help="which shapes, with commas")
    parser.add_argument("-f", "--format", default="table", choices=["table", "json"], help="what is printed")
    asked = parser.parse_args()
    shapes = [(shape, int(size)) for size in asked.sizes.split(",") for shape in asked.shapes.split(",")]
    results = list[Result]()
    with tempfile.TemporaryDirectory(prefix="isotherm-bench-") as directory:
        for each in measure(shapes, Path(directory)):
            results.append(each)
            say(f"{each.peer:30} {each.shape:7} {each.n:6} {each.seconds:8.2f} s")
    results = compared(results)
    kept = json.dumps([asdict(each) for each in results], indent=1)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(kept + "\n")
    sys.stdout.write((kept if asked.format == "json" else shown(results)) + "\n")
    say(f"written to {RESULT}")


if __name__ == "__main__":
    with provided_keys():
        main()
