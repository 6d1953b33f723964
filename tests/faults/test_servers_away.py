"""The database and the broker restart, stay away, or hang."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.store import migrations
from tests.bench.shapes import template
from tests.faults.history import assert_made_once_and_in_order
from tests.faults.installation import STACK, Installation
from tests.services.process import HOST, free_port
from tests.services.servers import PostgresServer, RedisServer
from tests.waiting import until

pytestmark = pytest.mark.slow

#: Layers of resources, each of which takes half a second without keeping a worker busy.
LAYERS, WIDTH = 8, 20

Create = Callable[[str], "subprocess.CompletedProcess[str]"]


def requires(number: int) -> list[str]:
    """Return what a resource requires: two of the layer below."""
    layer, place = divmod(number, WIDTH)
    places = (place, (place + 1) % WIDTH)
    return [f"r{(layer - 1) * WIDTH + other}" for other in places] if layer else []


def unhurried_template() -> str:
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    for number in range(LAYERS * WIDTH):
        depends = ", ".join(requires(number))
        lines.append(
            f"  r{number}: {{type: 'OS::Heat::TestResource', properties: {{wait_secs: 0.5}}, "
            f"depends_on: [{depends}]}}"
        )
    return "\n".join([*lines, ""])


def test_a_stack_survives_restarts_of_the_database_and_of_the_broker(
    installation: Installation, postgres_server: PostgresServer, redis_server: RedisServer
) -> None:
    last = f"r{LAYERS * WIDTH - 1}"
    stack_id = installation.create(unhurried_template(), held=last)
    installation.until_done(stack_id, WIDTH)
    postgres_server.stop()
    until(lambda: "the database did not answer; trying again" in installation.log)
    postgres_server.launch()
    installation.until_done(stack_id, 3 * WIDTH)
    redis_server.restart()
    installation.until_done(stack_id, 5 * WIDTH)
    postgres_server.crash()
    postgres_server.launch()
    installation.release(stack_id, last)
    assert installation.ended(stack_id).state == "CREATE_COMPLETE"
    everything = {f"r{number}": requires(number) for number in range(LAYERS * WIDTH)}
    assert_made_once_and_in_order(installation.events(stack_id), everything)
    assert "raised unexpected" not in installation.log


@pytest.fixture
def bystander(tmp_path: Path) -> Create:
    """Create a stack by hand where everything is well, but for the broker."""
    database = f"sqlite:///{tmp_path / 'isotherm.db'}"
    migrations.upgrade(database)
    (tmp_path / "small.yaml").write_text(template("wide", 1))

    def create(broker_url: str) -> "subprocess.CompletedProcess[str]":
        installation = Installation(tmp_path, broker_url=broker_url, database_url=database)
        with installation.service:
            done = installation.isotherm("stack", "create", STACK, "-t", "small.yaml")
            assert installation.service.stacks() == []
        return done

    return create


def assert_said_in_words(done: "subprocess.CompletedProcess[str]") -> None:
    assert (done.returncode, done.stdout) == (3, ""), done
    assert "the broker does not answer: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broker_that_is_down_is_named_at_once(
    bystander: Create,
) -> None:
    assert_said_in_words(bystander(f"redis://{HOST}:{free_port()}/0"))


def test_a_broker_that_hangs_is_not_waited_for_for_ever(bystander: Create, redis_server: RedisServer) -> None:
    with redis_server.frozen():
        assert_said_in_words(bystander(redis_server.url))
