"""An installation to whose broker an attacker may write: how many of its messages were refused, and what they did."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import psutil
import psycopg
import redis
import sqlalchemy as sa
from amqp.basic_message import Message
from amqp.connection import Connection

from orchestrator.config.settings import Settings
from orchestrator.keys.envelope import Envelope
from orchestrator.keys.key import NODE
from orchestrator.keys.key_file import LiveKeys
from orchestrator.model.check_batch import to_wire
from orchestrator.model.messages import (
    CHECKS_QUEUE,
    COORDINATOR_QUEUE,
    END,
    STACKS_QUEUE,
    CheckOrder,
    StackJob,
)
from orchestrator.nodes.rpc.calls import VERSION_RPC, make_request
from orchestrator.nodes.rpc.kombu_transport import mailbox_address
from orchestrator.nodes.rpc.mailbox import EXCHANGE
from orchestrator.nodes.rpc.messages import Request, node_queue
from orchestrator.nodes.rpc.sealing import Seal
from orchestrator.queue.sealing import sealed, use_of
from tests.load.hostile import HOST, MAILBOX, TASKS, Hostile
from tests.waiting import until

#: Tables that change by themselves, or because messages were refused.
RESTLESS: Final = {
    "alembic_version",
    "process",
    "chore",
    "machine",
    "node_counter",
    "cache_counter",
    "sink_cursor",
    "refused_message",
    "refused_count",
    # When a job was delivered last.
    "taken_job",
}
ADDRESS: Final = mailbox_address(HOST)
#: How many messages may wait before more are sent.
BACKLOG: Final = 2000
FIELD: Final = re.compile(r"\b(?P<name>count|reason)=(?P<value>'[^']*'|\S+)")
DAY_SECONDS: Final = 24 * 3600.0


class Broker:
    """What an attacker does at a broker, Redis or RabbitMQ."""

    def __init__(self, url: str) -> None:
        self.is_redis = url.startswith("redis")
        if self.is_redis:
            self._redis = redis.Redis.from_url(url)
            self._database = int(url.rpartition("/")[2] or 0)
        else:
            parts = sa.make_url(url)
            self._connection = Connection(
                f"{parts.host}:{parts.port}", userid=parts.username, password=parts.password, virtual_host="/"
            )
            self._connection.connect()
            self._channel = self._connection.channel()

    def send(self, messages: Sequence[Hostile]) -> None:
        """Send messages, each to its place."""
        if not self.is_redis:
            for each in messages:
                self._publish(each)
            return
        with self._redis.pipeline(transaction=False) as pipeline:
            for each in messages:
                if each.place == MAILBOX:
                    pipeline.publish(f"/{self._database}.{EXCHANGE}/{ADDRESS}", each.entry)
                else:
                    pipeline.lpush(each.place, each.entry)
            pipeline.execute()

    def _publish(self, message: Hostile) -> None:
        sent = Message(
            message.body, application_headers=message.headers, content_type=str(message.content_type)[:200]
        )
        exchange, key = (EXCHANGE, ADDRESS) if message.place == MAILBOX else ("", message.place)
        self._channel.basic_publish(sent, exchange=exchange, routing_key=key)

    def waiting(self) -> int:
        """Return how many messages wait in the queues, or are not acknowledged."""
        queues = [place for place in TASKS if place != MAILBOX]
        if self.is_redis:
            return sum(self._redis.llen(each) for each in queues) + self._redis.hlen("unacked")
        return sum(self._channel.queue_declare(each, passive=True).message_count for each in queues)


class Besieged:
    """The processes of an installation, its database and its broker."""

    def __init__(self, settings: Settings, processes: Sequence[int], agent_log: Callable[[], str]) -> None:
        """``processes``: their ids; ``agent_log`` returns what the agent has logged, which has no database."""
        self.settings, self._processes, self._agent_log = settings, processes, agent_log
        self.ring = LiveKeys(settings.effective_key_file)()
        self.broker = Broker(settings.broker_url)
        self.sent: Counter[str] = Counter()
        self._known: set[int] = self.family()

    def family(self) -> set[int]:
        """Return the processes and their children."""
        return {
            each.pid
            for pid in self._processes
            for each in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True))
        }

    def memory_bytes(self) -> int:
        """Return the memory of all of them."""
        return sum(psutil.Process(pid).memory_info().rss for pid in self.family())

    def are_unharmed(self) -> bool:
        """Return whether no process has ended, and none was added."""
        return self.family() == self._known

    def attack(self, messages: Iterator[Hostile], *, batch: int = 200) -> Iterator[int]:
        """Send messages; yield after each batch how many were sent."""
        while some := [message for _, message in zip(range(batch), messages, strict=False)]:
            until(lambda: self.broker.waiting() < BACKLOG)
            self.broker.send(some)
            self.sent.update(each.label for each in some)
            yield self.sent.total()

    def refused(self) -> Counter[str]:
        """Return how many messages each reason was given for: by the database, and by the log of the agent."""
        found: Counter[str] = Counter()
        with self._database() as connection:
            for reason, amount in connection.execute(
                "SELECT reason, sum(amount) FROM refused_count GROUP BY reason"
            ):
                found[reason] += int(amount)
        for line in self._agent_log().splitlines():
            if "messages were refused" in line:
                logged = {each["name"]: each["value"].strip("'") for each in FIELD.finditer(line)}
                found[logged["reason"]] += int(logged["count"])
        return found

    def state(self) -> str:
        """Return all that the engine has stored, as a text that is the same as long as it is."""
        with self._database() as connection:
            names = connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name"
            ).fetchall()
            return "\n".join(
                f"{name}: {row}"
                for (name,) in names
                if name not in RESTLESS
                for row in sorted(map(str, connection.execute(f'SELECT t::text FROM "{name}" t')))
            )

    def is_at_rest(self) -> bool:
        """Return whether the engine has nothing left to do, not even the end of an operation."""
        with self._database() as connection:
            row = connection.execute("SELECT 1 FROM node WHERE state <> 'done' LIMIT 1").fetchone()
        return row is None

    def _database(self) -> "psycopg.Connection[Any]":
        url = sa.make_url(self.settings.database_url)
        return psycopg.connect(
            host=url.host, port=url.port, user=url.username, dbname=url.database, autocommit=True
        )

    # -- what an attacker may have read --------------------------------------------------------------------------

    def valid(self, job: StackJob, order: CheckOrder, call: Request) -> dict[str, Envelope]:
        """Return an envelope for each place whose work is done: a job, a check, an end, and a call of the node."""
        seal = Seal(self.settings, LiveKeys(self.settings.effective_key_file))
        read = make_request(HOST, VERSION_RPC, {}, timeout_seconds=DAY_SECONDS)
        contents: dict[str, tuple[str, dict[str, Any]]] = {
            STACKS_QUEUE: (job.job_id, {"job": job.to_wire()}),
            CHECKS_QUEUE: ("check", {"orders": to_wire((order,))}),
            COORDINATOR_QUEUE: ("end", {"order": CheckOrder(**{**_fields(order), "phase": END}).to_wire()}),
            node_queue(HOST): (call.id, {"request": seal.call(call), "life": {}}),
        }
        made = {
            place: _envelope(place, message_id, content, self)
            for place, (message_id, content) in contents.items()
        }
        data = seal.read(read, address=ADDRESS, reply_to="asker.nobody", life={})
        made[MAILBOX] = Envelope.open(data, self.ring, uses=(NODE,), now=None)[0]
        return made


def _fields(order: CheckOrder) -> dict[str, Any]:
    return {name: getattr(order, name) for name in order.__slots__}


def _envelope(place: str, message_id: str, content: dict[str, Any], besieged: Besieged) -> Envelope:
    data = sealed(
        TASKS[place],
        content,
        besieged.ring,
        queue=place,
        message_id=message_id,
        installation="",
        lifetime_seconds=DAY_SECONDS,
        summary="",
        settings=besieged.settings,
    )
    use = use_of(TASKS[place])
    return Envelope.open(data, besieged.ring, uses=(use,), now=None)[0]
