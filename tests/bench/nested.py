"""What a group of stacks costs: 500 members of three resources each, two worker processes, PostgreSQL and Redis.

Run as ``python -m tests.bench.nested``, or by ``make bench``. Watched meanwhile: how long any resource that is a stack
holds a worker at a time, and how large the worker's processes are when a part of the members is there.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Final

import psutil
import sqlalchemy as sa
from rich.console import Console

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import StackJob
from orchestrator.queue.celery_app import default_app
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.bench.installation import CONCURRENCY, environment, isotherm, processes
from tests.keys import provided_keys
from tests.services.servers import PostgresServer, RedisServer

RESULT: Final = Path("build") / "bench-nested.json"
#: How often the installation is looked at.
PAUSE_SECONDS: Final = 0.25
LONGEST_SECONDS: Final = 900.0

GROUP: Final = """\
heat_template_version: 2021-04-16
parameters: {count: {type: number}}
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: count}
      resource_def: {type: member.yaml, properties: {word: member-%index%}}
outputs:
  members: {value: {get_attr: [group, refs]}}
"""
MEMBER: Final = """\
heat_template_version: 2021-04-16
parameters: {word: {type: string}}
resources:
  first: {type: OS::Heat::Value, properties: {value: {get_param: word}}}
  second: {type: OS::Heat::RandomString, depends_on: first}
  third:
    type: OS::Heat::Value
    properties: {value: {list_join: ['/', [{get_attr: [first, value]}, {get_resource: second}]]}}
"""

#: How many steps of resources that are stacks are being taken, and for how long the longest has been: the lease begins
#: with the step, and is only ever extended.
HELD = sa.text("""
    SELECT count(*) AS steps, min(due_at) AS first_due FROM node n JOIN resource r ON r.id = n.resource_id
    WHERE n.state = 'running' AND r.type IN ('OS::Heat::ResourceGroup', 'member.yaml')""")
COUNT = sa.text("SELECT count(*) FROM resource WHERE status = 'COMPLETE' AND action = 'CREATE'")


def rss_mib(worker: psutil.Popen) -> float:
    """Return how large the largest of a worker's child processes is now."""
    sizes = [each.memory_info().rss / 2**20 for each in worker.children(recursive=True)]
    return max(sizes, default=0.0)


def measure(members: int, log: Path) -> dict[str, float]:
    """Create the group on a fresh installation, and return what was seen."""
    url = load_settings().effective_database_url
    migrations.upgrade(url)
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    worker, coordinator = (
        isotherm("worker", "--concurrency", str(CONCURRENCY)),
        isotherm("coordinator", "--concurrency", "1"),
    )
    sizes: list[tuple[int, float]] = []
    most_held = 0
    with processes(worker, coordinator, log=log) as running, Service.open(load_settings()) as service:
        job = StackJob(
            name="group", template=GROUP, files={"member.yaml": MEMBER}, parameters={"count": members}
        )
        started = time.perf_counter()
        stack = service.create(job)
        while not service.progress(stack.id).finished:
            if time.perf_counter() - started > LONGEST_SECONDS:
                raise SystemExit(f"the group is not complete after {LONGEST_SECONDS:g} s")
            with engine.connect() as connection:
                held, done = connection.execute(HELD).one(), connection.execute(COUNT).scalar_one()
            most_held = max(most_held, held.steps)
            sizes.append((done, rss_mib(running.roots[0])))
            time.sleep(PAUSE_SECONDS)
        seconds = time.perf_counter() - started
        state = service.stack(stack.id).state
        count = len(service.resources("group", depth=5))
        cpu = running.cpu_seconds()
    engine.dispose()
    if state != "CREATE_COMPLETE":
        raise SystemExit(f"the group ended {state}")
    total = members * 4 + 1
    return {
        "members": members,
        "resources": count,
        "seconds": round(seconds, 1),
        "resources_per_second": round(count / seconds, 1),
        "cpu_ms_per_resource": round(cpu / count * 1000, 1),
        "most_steps_of_stacks_at_once": most_held,
        "worker_mib_at_a_tenth": round(_size_at(sizes, total / 10), 1),
        "worker_mib_at_half": round(_size_at(sizes, total / 2), 1),
        "worker_mib_at_the_end": round(sizes[-1][1], 1),
    }


def _size_at(sizes: list[tuple[int, float]], done: float) -> float:
    return next((size for count, size in sizes if count >= done), sizes[-1][1])


def main() -> None:
    """Measure, print and keep what was seen."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.nested", description=__doc__)
    parser.add_argument("--members", type=int, default=500, help="how many stacks")
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="isotherm-bench-") as directory,
        RedisServer.start() as redis,
        PostgresServer.start(durable=True) as postgres,
    ):
        default_app.cache_clear()
        values = {
            "ISOTHERM_BROKER_URL": redis.url,
            "ISOTHERM_DATABASE_URL": postgres.create_database(),
            "ISOTHERM_LOG_LEVEL": "WARNING",
            "ISOTHERM_MAX_RESOURCES_PER_STACK": "10000",
        }
        with environment(values):
            seen = measure(asked.members, Path(directory) / "log")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(seen, indent=2) + "\n")
    Console().print_json(json.dumps(seen))


if __name__ == "__main__":
    with provided_keys():
        main()
