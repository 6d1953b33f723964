"""With a key configured, no secret of a stack can be read in the database's files."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from orchestrator.config.secret import Secret
from orchestrator.config.settings import Settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store.database import Database

KEY = "Y1bBqCh5B1mYV0gxbQ7rVbW6Tq7l4V3m1t5i0y3r2nA="
PASSWORD = "correct horse battery staple"

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  password: {type: string, hidden: true}
resources:
  secret: {type: OS::Heat::RandomString}
  user:
    type: OS::Heat::TestResource
    metadata: {token: {get_resource: secret}}
    properties:
      value: {list_join: ['/', [{get_param: password}, {get_resource: secret}]]}
  handle: {type: OS::Heat::WaitConditionHandle}
  waiter:
    type: OS::Heat::WaitCondition
    depends_on: user
    properties: {handle: {get_resource: handle}, timeout: 600}
outputs:
  random: {value: {get_attr: [secret, value]}}
  joined: {value: {get_attr: [user, output]}}
  told: {value: {get_attr: [waiter, data]}}
"""


@pytest.fixture(params=[True, False], ids=["with a key", "without a key"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    keys = (Secret(KEY),) if request.param else ()
    return Settings(state_directory=tmp_path, encryption_keys=keys, log_level="WARNING")


def test_secrets_are_readable_in_no_file_of_the_database_once_there_is_a_key(settings: Settings) -> None:
    job = StackJob(name="web", template=TEMPLATE, parameters={"password": PASSWORD})
    with Service.open(settings) as service:
        created = service.create(job)
        signalled = False
        for progress in service.watch(created.id, interval_seconds=0.02):
            if not signalled and "waiter" in progress.running:
                service.signal("web", "handle", {"data": PASSWORD})
                signalled = True
        assert service.stack("web").state == "CREATE_COMPLETE"
        outputs = {output.key: output.value for output in service.outputs("web")}
        random = service._store.stacks.resource(created.id, "secret")
        # While the service is open, what was written last is in the write-ahead log.
        files = {path: path.read_bytes() for path in settings.state_directory.glob("isotherm.db*")}
    assert outputs["joined"] == f"{PASSWORD}/{outputs['random']}"
    assert outputs["told"] == f'{{"1": "{PASSWORD}"}}'
    assert random.reference_id == outputs["random"]
    assert random.physical_id == random.id
    assert any(path.name.endswith("-wal") for path in files)
    readable = {
        secret
        for secret in (PASSWORD, outputs["random"])
        if any(secret.encode() in content for content in files.values())
    }
    # Without a key they are there: the search is able to find them.
    assert readable == (set() if settings.encryption_keys else {PASSWORD, outputs["random"]})


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///{path}/s.db"])
def test_what_a_statement_was_to_write_is_in_no_error_about_it(url: str, tmp_path: Path) -> None:
    database = Database(url.format(path=tmp_path))
    with pytest.raises(DBAPIError) as failed, database.write() as connection:
        connection.execute(sa.text("INSERT INTO nothing VALUES (:value)"), {"value": PASSWORD})
    assert "nothing" in str(failed.value)
    assert PASSWORD not in str(failed.value)


def test_nor_where_the_database_is_a_server(postgres_url: str) -> None:
    database = Database(postgres_url)
    with pytest.raises(DBAPIError) as failed, database.write() as connection:
        connection.execute(sa.text("INSERT INTO nothing VALUES (:value)"), {"value": PASSWORD})
    assert PASSWORD not in str(failed.value)
