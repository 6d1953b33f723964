"""Users with keys of their own, on a real broker: what each may do is decided by the coordinator."""

from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import NotAllowed
from orchestrator.keys.key import JOB
from orchestrator.keys.key_file import write_keys
from orchestrator.keys.rotation import OWN, created, for_client
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.services.engine import running
from tests.unit.docs.pages import Session
from tests.waiting import until

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::None}}"


@pytest.mark.slow
def test_coordinator_begins_the_jobs_that_the_senders_key_allows(tmp_path: Path, redis_url: str) -> None:
    keys = created([], OWN)
    for user, role in (("alice", "operator"), ("rita", "reader")):
        keys += created(keys, [JOB], user=user, projects="acme", role=role)
        write_keys(tmp_path / user / "keys.json", for_client(keys, user))
    write_keys(tmp_path / "keys.json", keys)
    database = f"sqlite:///{tmp_path}/isotherm.db"
    migrations.upgrade(database)
    session = Session(tmp_path)
    session.environment |= {
        "ISOTHERM_BROKER_URL": redis_url,
        "ISOTHERM_DATABASE_URL": database,
        "ISOTHERM_KEY_FILE": str(tmp_path / "keys.json"),
    }

    def service_of(user: str) -> Service:
        directory = tmp_path / user
        settings = Settings(
            broker_url=redis_url,
            database_url=database,
            state_directory=directory,
            key_file=directory / "keys.json",
            project="acme",
        )
        return Service.open(settings)

    def create(service: Service, name: str, project: str) -> str:
        return service.create(StackJob(name=name, template=TEMPLATE, project=project)).name

    with running([session.start_quickly("isotherm coordinator"), session.start_quickly("isotherm worker")]):
        with service_of("alice") as alice:
            assert create(alice, "web", "acme") == "web"
            with pytest.raises(
                NotAllowed, match="the role operator in the project 'beta'; alice has no role"
            ):
                create(alice, "web", "beta")
        with service_of("rita") as rita:
            with pytest.raises(
                NotAllowed, match="the role operator in the project 'acme'; rita has the role reader"
            ):
                create(rita, "db", "acme")
            assert refusals_of(rita) == {("stacks", "not allowed")}
            assert [stack.name for stack in rita.stacks()] == ["web"]


def refusals_of(service: Service) -> set[tuple[str, str]]:
    """Return the places and reasons of refusals once the coordinator has written them."""
    until(lambda: sum(each.amount for each in service.refused.counts()) == 2)
    return {(each.place, each.reason) for each in service.refused.counts()}
