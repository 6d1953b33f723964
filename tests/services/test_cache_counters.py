"""What the caches of real processes counted is in the database when the processes have ended."""

import json
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.services.asking import CACHE, PATIENT
from tests.services.engine import running
from tests.services.http_api import HttpApi
from tests.unit.docs.pages import Session

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  image: {type: string, default: /images/cirros, constraints: [{custom_constraint: http.exists}]}
resources: {it: {type: OS::Heat::Value, properties: {value: {get_param: image}}}}
"""


def test_what_the_processes_of_a_coordinator_counted_is_brought_together(
    tmp_path: Path, redis_url: str, http_api: HttpApi
) -> None:
    http_api.put("/images/cirros", {"name": "cirros"})
    session, database = Session(tmp_path), f"sqlite:///{tmp_path}/isotherm.db"
    session.environment |= {
        "ISOTHERM_BROKER_URL": redis_url,
        "ISOTHERM_DATABASE_URL": database,
        "ISOTHERM_CLIENTS": json.dumps({"http": {"base_url": http_api.url, **PATIENT}}),
        "ISOTHERM_CONSTRAINT_CACHE": json.dumps(CACHE),
    }
    settings = Settings(broker_url=redis_url, database_url=database, state_directory=tmp_path / "state")
    migrations.upgrade(database)
    with Service.open(settings) as service:
        with running([session.start_quickly("isotherm coordinator")]):
            for name in ("a", "b", "c"):
                service.create(StackJob(name=name, template=TEMPLATE))
        (counted,) = service.cache_stats("http")
    asked = len(http_api.requests)
    assert asked >= 1
    assert (counted.counters.generated, counted.counters.misses) == (asked, asked)
    assert counted.counters.hits + counted.counters.misses >= 3
    assert (counted.counters.refused, counted.counters.errors, counted.counters.garbage) == (0, 0, 0)
