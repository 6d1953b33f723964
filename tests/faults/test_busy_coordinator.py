"""A coordinator whose slots are held by slow jobs: sweeps go on, jobs arrive, and each project has its turn."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.model.messages import StackJob
from orchestrator.queue.celery_app import make_app, send_job
from orchestrator.store import migrations
from orchestrator.store.store import Store
from tests.faults.installation import Installation
from tests.services import demanding
from tests.services.engine import running
from tests.services.http_api import Fault, How, HttpApi
from tests.waiting import until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SLOW = demanding.template(1, ["slow"])
FINE = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}}\n"
#: Those of the client that looks for what slow jobs demand: it waits, and tries once.
OPTIONS = {"connect_seconds": 300, "read_seconds": 300, "total_seconds": 300, "retries": 0}
#: Made in several steps, each of which the sweep has taken.
SWEPT = """\
heat_template_version: 2021-04-16
resources: {a: {type: OS::Heat::TestResource, properties: {action_wait_secs: {create: 0.01}}}}
"""


@pytest.fixture
def api() -> Iterator[HttpApi]:
    """An API that has what slow jobs demand, and does not answer who looks for it."""
    with HttpApi() as api:
        api.put(demanding.path_of("slow"))
        api.fail(Fault(how=How.HANG), path=demanding.path_of("slow"), times=-1)
        yield api


@pytest.fixture
def installation(tmp_path: Path, redis_url: str, postgres_url: str, api: HttpApi) -> Iterator[Installation]:
    """A coordinator with one slot, and a worker."""
    package = demanding.install(tmp_path / "site")
    migrations.upgrade(postgres_url)
    installation = Installation(tmp_path, broker_url=redis_url, database_url=postgres_url)
    path = [str(package), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    installation.environment |= {
        "PYTHONPATH": os.pathsep.join(path),
        "ISOTHERM_CLIENTS": json.dumps({"http": OPTIONS | {"base_url": api.url}}),
    }
    coordinator = installation._start("coordinator", "--concurrency", "1")
    with installation.service, running([coordinator, installation.start("w1")]) as installation.engines:
        try:
            yield installation
        finally:
            api.heal()
            print(installation.log)


def send(installation: Installation, name: str, template: str, project: str) -> None:
    job = StackJob(name=name, template=template, project=project, job_id=name)
    send_job(make_app(installation.settings), job, stack=name)


def test_sweeps_and_arriving_jobs_need_no_slot_and_the_next_job_is_that_of_another_project(
    installation: Installation, api: HttpApi
) -> None:
    store = Store.of(installation.settings)
    send(installation, "slow-0", SLOW, "busy")
    api.wait_for("GET", demanding.path_of("slow"))
    for number in range(1, 20):
        send(installation, f"slow-{number}", SLOW if number == 1 else FINE, "busy")
    send(installation, "swept", SWEPT, "default")
    until(lambda: store.taken_jobs.is_taken("swept"))
    # All have arrived, and none is begun, as the one slot is held still.
    assert [store.stacks.job(f"slow-{number}") for number in range(20)] == [None] * 20
    api.release()
    # Then it is held by a job of the busy project again, while the other project's stack is swept.
    api.wait_for("GET", demanding.path_of("slow"), times=2)
    begun = until(lambda: store.stacks.job("swept"))
    assert begun.stack_id
    assert [store.stacks.job(f"slow-{number}") for number in range(1, 20)] == [None] * 19
    assert installation.ended(begun.stack_id).state == "CREATE_COMPLETE"
    assert [store.stacks.job(f"slow-{number}") for number in range(1, 20)] == [None] * 19
    store.close()
