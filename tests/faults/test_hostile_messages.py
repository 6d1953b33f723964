"""Who may write to the broker ends no process and changes nothing; each message is counted under its reason."""

import itertools
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from orchestrator.model.messages import CheckOrder, StackJob
from orchestrator.nodes.rpc.calls import make_request
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.store import migrations
from tests.bench.shapes import template
from tests.faults.installation import Installation
from tests.load.besieged import DAY_SECONDS, Besieged
from tests.load.hostile import HOST, MOST_BYTES, TAKEN, Attacker, Hostile
from tests.services.engine import running
from tests.services.rabbit import RabbitServer
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.slow

#: How many messages are sent: each way to each place about ten times.
AMOUNT = 1_000
PROCESSES = (
    ("coordinator", "--concurrency", "1"),
    ("worker", "--concurrency", "1"),
    ("agent", "--node", HOST),
)


class Siege:
    """An installation that has done a little work, and an attacker who has read along."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        path = str(installation.files / "made")
        owner = {"uuid": "u", "stack": "s", "resource": "r"}
        arguments = {"owner": owner, "path": path, "content": b"1", "mode": 0o600, "new": True}
        with closing(NodeClient.of(installation.settings)) as client:
            client.change(HOST, "file_put", "put", wait_seconds=PATIENCE_SECONDS, **arguments)
        call = make_request(HOST, "file_put", arguments, timeout_seconds=DAY_SECONDS, operation_id="put")
        job = StackJob(name="done", template=template("layers", 4))
        stack = installation.service.create(job)
        installation.ended(stack.id)
        traversal = installation.service.events(stack.id)[0].traversal_id
        order = CheckOrder(stack_id=stack.id, traversal_id=traversal, no=0, key="r0")
        processes = [engine.process.pid for engine in installation.engines]
        self.besieged = Besieged(installation.settings, processes, lambda: installation.engines[-1].log)
        valid = self.besieged.valid(job, order, call)
        by_redis = self.besieged.broker.is_redis
        self.attacker = Attacker(self.besieged.ring, valid, seed=1, by_redis=by_redis)
        self.sent: list[Hostile] = []

    def messages(self) -> Iterator[Hostile]:
        """Yield messages for ever."""
        while True:
            self.sent.append(self.attacker.message())
            yield self.sent[-1]

    def least_refused(self) -> int:
        """Return how many messages cannot have been taken."""
        return sum(TAKEN not in each.reasons for each in self.sent)


@contextmanager
def besieged(directory: Path, broker_url: str, database_url: str, cache_url: str) -> Iterator[Siege]:
    """Give an installation whose processes run."""
    migrations.upgrade(database_url)
    installation = Installation(
        directory,
        broker_url=broker_url,
        database_url=database_url,
        max_message_bytes=MOST_BYTES,
        node_state_cache={"backend": "redis", "url": cache_url},
    )
    with installation.service, running([installation._start(*words) for words in PROCESSES]) as engines:
        installation.engines = engines
        yield Siege(installation)
        print(installation.log)


def withstands(siege: Siege, amount: int = AMOUNT) -> None:
    """Send messages, and see that every process lives, nothing has changed, and all are counted."""
    besieged = siege.besieged
    before = besieged.state()
    for _ in besieged.attack(itertools.islice(siege.messages(), amount)):
        assert besieged.are_unharmed()
    until(lambda: besieged.broker.waiting() == 0)
    until(lambda: besieged.refused().total() >= siege.least_refused())
    assert besieged.are_unharmed()
    assert besieged.state() == before
    allowed = set().union(*(each.reasons for each in siege.sent)) - {TAKEN}
    assert set(besieged.refused()) <= allowed
    assert besieged.refused().total() <= len(siege.sent)
    # They work as before.
    stack = siege.installation.service.create(StackJob(name="after", template=template("layers", 4)))
    assert siege.installation.ended(stack.id).state == "CREATE_COMPLETE"
    assert "Traceback" not in siege.installation.log


def test_what_an_attacker_sends_by_redis_changes_nothing(
    tmp_path: Path, redis_url: str, postgres_url: str
) -> None:
    with besieged(tmp_path, redis_url, postgres_url, redis_url) as siege:
        withstands(siege)


def test_what_an_attacker_sends_by_rabbitmq_changes_nothing(
    tmp_path: Path, rabbit_server: RabbitServer, redis_url: str, postgres_url: str
) -> None:
    with besieged(tmp_path, rabbit_server.url, postgres_url, redis_url) as siege:
        withstands(siege)
