"""Plans on a real broker: one user makes them, another applies them, and the coordinator verifies them."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from orchestrator.config.secret import Secret
from orchestrator.config.settings import Settings
from orchestrator.engine.stack_plans import StackPlan
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.keys.key import JOB
from orchestrator.keys.key_file import write_keys
from orchestrator.keys.rotation import OWN, created, for_client
from orchestrator.model.messages import StackJob, UpdateJob
from orchestrator.service import Service
from orchestrator.store import migrations
from orchestrator.views.stacks import StackView
from tests.services.engine import running
from tests.unit.docs.pages import Session
from tests.waiting import until

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters: {word: {type: string, default: hello}}
resources: {it: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}}
"""


@pytest.mark.slow
def test_a_plan_is_applied_by_another_user_and_verified_by_the_coordinator(
    tmp_path: Path, redis_url: str
) -> None:
    keys = created([], OWN)
    for user in ("alice", "bob"):
        keys += created(keys, [JOB], user=user, projects="acme", role="operator")
        write_keys(tmp_path / user / "keys.json", for_client(keys, user))
    write_keys(tmp_path / "keys.json", keys)
    database = f"sqlite:///{tmp_path}/isotherm.db"
    migrations.upgrade(database)
    secret = Fernet.generate_key().decode()
    session = Session(tmp_path)
    session.environment |= {
        "ISOTHERM_BROKER_URL": redis_url,
        "ISOTHERM_DATABASE_URL": database,
        "ISOTHERM_KEY_FILE": str(tmp_path / "keys.json"),
        "ISOTHERM_ENCRYPTION_KEYS": f'["{secret}"]',
        "ISOTHERM_LIFECYCLE__FOUR_EYES__ENABLED": "true",
    }

    def service_of(user: str) -> Service:
        settings = Settings(
            broker_url=redis_url,
            database_url=database,
            state_directory=tmp_path / user,
            key_file=tmp_path / user / "keys.json",
            encryption_keys=(Secret(secret),),
            project="acme",
        )
        return Service.open(settings)

    def ended(service: Service, begun: StackView) -> StackView:
        until(lambda: service.stack(begun.id).status != "IN_PROGRESS")
        return service.stack(begun.id)

    job = StackJob(name="web", template=TEMPLATE, project="acme")
    processes = [session.start_quickly("isotherm coordinator"), session.start_quickly("isotherm worker")]
    with running(processes), service_of("alice") as alice, service_of("bob") as bob:
        with pytest.raises(Conflict, match="a plan that another user has made is needed"):
            bob.create(job)
        content = alice.plans.packed(alice.plans.of_create(job))
        with pytest.raises(Conflict, match="'alice' made this one"):
            alice.apply(alice.plans.read(content))
        # Bob has not Alice's key: he sees what he applies, and the coordinator verifies it.
        read = bob.plans.read(content)
        assert (read.view.is_verified, read.view.user) == (False, "")
        assert ended(bob, bob.apply(read)).state == "CREATE_COMPLETE"
        with pytest.raises(Conflict, match="applied already"):
            bob.apply(bob.plans.read(content))
        update = alice.plans.packed(alice.plans.of_update(replace(job, parameters={"word": "bye"})))
        read = bob.plans.read(update)
        with pytest.raises(InvalidInput, match="not signed with the key"):
            bob.apply(forged(read))
        begun = bob.apply(read)
        assert ended(bob, begun).state == "UPDATE_COMPLETE"
        assert [each.user for each in bob.history("web")] == ["bob", "bob"]


def forged(plan: StackPlan) -> StackPlan:
    """Return a plan whose binding was changed on the way."""
    assert isinstance(plan.job, UpdateJob)
    seal = bytearray(base64.b64decode(plan.job.plan))
    seal[-1] ^= 1
    return replace(plan, job=replace(plan.job, job_id="forged", plan=base64.b64encode(seal).decode()))
