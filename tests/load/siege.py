"""``python -m tests.load.siege --count 1000000``: an attacker at the broker, and what became of the installation."""

import argparse
import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from orchestrator.model.messages import CheckOrder, StackJob
from orchestrator.nodes.rpc.calls import make_request
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.store import migrations
from tests.bench.shapes import template
from tests.faults.installation import Installation
from tests.keys import provided_keys
from tests.load.besieged import DAY_SECONDS, Besieged
from tests.load.hostile import HOST, MOST_BYTES, TAKEN, Attacker, Hostile
from tests.services.engine import running
from tests.services.rabbit import RabbitServer
from tests.services.servers import PostgresServer, RedisServer
from tests.waiting import PATIENCE_SECONDS, until

PROCESSES: Final = (
    ("coordinator", "--concurrency", "1"),
    ("worker", "--concurrency", "1"),
    ("agent", "--node", HOST),
)
MIB: Final = 1024 * 1024


class Siege:
    """An installation that has done a little work, and an attacker who has read along."""

    def __init__(self, installation: Installation, *, seed: int = 1) -> None:
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
        until(self.besieged.is_at_rest)
        valid = self.besieged.valid(job, order, call)
        by_redis = self.besieged.broker.is_redis
        self.attacker = Attacker(self.besieged.ring, valid, seed=seed, by_redis=by_redis)
        #: How many messages of each kind were sent, and how many of them cannot have been taken.
        self.sent: Counter[str] = Counter()
        self.hopeless = 0
        self.allowed: set[str] = set()

    def messages(self) -> Iterator[Hostile]:
        """Yield messages for ever."""
        while True:
            made = self.attacker.message()
            self.sent[made.label] += 1
            self.hopeless += TAKEN not in made.reasons
            self.allowed |= made.reasons - {TAKEN}
            yield made

    def attack(self, amount: int) -> Iterator[int]:
        """Send so many messages; yield how many were sent, now and then, and return when all were received."""
        yield from self.besieged.attack(itertools.islice(self.messages(), amount))
        until(lambda: self.besieged.broker.waiting() == 0)
        until(lambda: self.besieged.refused().total() >= self.hopeless)

    def works(self) -> bool:
        """Return whether a stack is made as before."""
        stack = self.installation.service.create(StackJob(name="after", template=template("layers", 4)))
        return self.installation.ended(stack.id).state == "CREATE_COMPLETE"


@contextmanager
def besieged(
    directory: Path, broker_url: str, database_url: str, cache_url: str, **options: Any
) -> Iterator[Siege]:
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
        yield Siege(installation, **options)
        if sys.exc_info()[0] is not None:
            print(installation.log)


def main() -> None:
    """Besiege an installation, and print what became of it; exit with 1 if it was harmed."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.siege", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="how many messages")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broker", choices=("redis", "rabbitmq"), default="redis")
    asked = parser.parse_args()
    say = Console(stderr=True, highlight=False, soft_wrap=True).print
    with ExitStack() as stack:
        stack.enter_context(provided_keys())
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isotherm-siege-")))
        redis = stack.enter_context(RedisServer.start())
        postgres = stack.enter_context(PostgresServer.start())
        broker = redis.url
        if asked.broker == "rabbitmq":
            broker = stack.enter_context(RabbitServer.start()).url
        siege = stack.enter_context(
            besieged(directory, broker, postgres.create_database(), redis.url_of(1), seed=asked.seed)
        )
        harmed = _report(siege, asked.count, say)
    raise SystemExit(1 if harmed else 0)


def _report(siege: Siege, count: int, say: Any) -> bool:
    target = siege.besieged
    before, started, shown = target.state(), time.monotonic(), 0.0
    # What is loaded at the first refusal is there by then.
    warm = 0
    for sent in siege.attack(count):
        warm = warm or (target.memory_bytes() if sent >= count // 20 else 0)
        if time.monotonic() - shown >= 10.0:
            shown = time.monotonic()
            say(f"{sent} sent, {target.memory_bytes() / MIB:.0f} MiB, unharmed: {target.are_unharmed()}")
    seconds = time.monotonic() - started
    verdicts = {
        "the processes are those of the beginning": target.are_unharmed(),
        "the state is byte for byte that of the beginning": target.state() == before,
        "all were counted": siege.hopeless <= target.refused().total() <= siege.sent.total(),
        "no other reason was given": set(target.refused()) <= siege.allowed,
        "no traceback was logged": "Traceback" not in siege.installation.log,
        "a stack is made as before": siege.works(),
    }
    shown_rows = Table("sent", "messages", "reason", "refused")
    pairs = itertools.zip_longest(
        sorted(siege.sent.items()), target.refused().most_common(), fillvalue=("", "")
    )
    for (label, amount), (reason, refused) in pairs:
        shown_rows.add_row(label, str(amount), reason, str(refused))
    say(shown_rows)
    say(f"{siege.sent.total()} messages in {seconds:.0f} s, {siege.sent.total() / seconds:.0f}/s")
    say(f"{siege.hopeless} of them cannot have been taken; {target.refused().total()} were refused")
    say(f"memory: {warm / MIB:.0f} MiB after a twentieth, {target.memory_bytes() / MIB:.0f} MiB at the end")
    for claim, holds in verdicts.items():
        say(f"{'yes' if holds else 'NO '} {claim}")
    return not all(verdicts.values())


if __name__ == "__main__":
    main()
