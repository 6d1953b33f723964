"""The sink ``broker`` on real brokers: what it published is there, in order; what it could not publish is told."""

from collections.abc import Iterator
from typing import Any

import pytest
from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from pydantic import SecretStr

from hooks.builtin.sinks.broker import BrokerOptions, BrokerSink
from hooks.builtin.sinks.confirms import NotConfirmed
from hooks.events import Event
from tests.services.fixtures import or_skip
from tests.services.rabbit import RabbitServer
from tests.services.servers import RedisServer
from tests.unit.hooks.builtin.sinks.histories import event
from tests.waiting import PATIENCE_SECONDS, until

TOPIC = Exchange("isotherm.events", type="topic", durable=True)


class Consumer:
    """A durable queue of a test's own, bound to everything."""

    def __init__(self, url: str, **arguments: Any) -> None:
        self.connection = Connection(url)
        self.queue = Queue("test", TOPIC, routing_key="#", durable=True, queue_arguments=arguments)
        self.bind()

    def bind(self) -> None:
        """Do what a consumer does that connects again."""
        self.connection.release()
        self.connection = Connection(self.connection.as_uri(include_password=True))
        self.queue = self.queue(self.connection.channel())
        self.queue.declare()

    def taken(self) -> list[tuple[int, int | None]]:
        """Take what waits: ids, each with the one before it."""
        messages = iter(lambda: self.queue.get(no_ack=True, accept=["msgpack"]), None)
        return [(message.payload["id"], message.payload["previous_id"]) for message in messages]


@pytest.fixture
def sinks() -> Iterator[list[BrokerSink]]:
    made: list[BrokerSink] = []
    yield made
    for sink in made:
        sink.close()


def sink(sinks: list[BrokerSink], url: str) -> BrokerSink:
    sinks.append(BrokerSink(BrokerOptions(url=SecretStr(url))))
    return sinks[-1]


def takes(sink: BrokerSink, event: Event) -> bool:
    """Whether a sink could publish an event in its time."""
    try:
        sink.consume([event])
    except Exception:  # noqa: BLE001  # the broker client's own
        return False
    return True


def times_asked(server: RedisServer) -> int:
    """Return how often Redis was asked for the bindings of an exchange."""
    with server.client() as client:
        return int(client.info("commandstats").get("cmdstat_smembers", {}).get("calls", 0))


def test_redis_has_what_was_published_and_forgets_bindings_when_it_is_emptied(
    redis_server: RedisServer, redis_url: str, sinks: list[BrokerSink]
) -> None:
    told, consumer = sink(sinks, redis_url), Consumer(redis_url)
    asked = times_asked(redis_server)
    told.consume([event(number) for number in range(1, 251)])
    # Where messages go, it asks once a batch.
    assert times_asked(redis_server) == asked + 1
    assert consumer.taken() == [(1, None), *((number, number - 1) for number in range(2, 251))]
    with redis_server.client(int(redis_url.rpartition("/")[2])) as client:
        client.flushdb()
    told.consume([event(251)])
    consumer.bind()
    told.consume([event(252)])
    # Whoever has 250 sees that one is missing, and after which he must read the history.
    assert consumer.taken() == [(252, 251)]
    consumer.connection.release()


def test_a_redis_that_hangs_is_told_in_time_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, sinks: list[BrokerSink]
) -> None:
    monkeypatch.setattr("hooks.builtin.sinks.publisher.SOCKET_SECONDS", 0.2)
    with or_skip(RedisServer.start) as redis:
        told, consumer = sink(sinks, redis.url), Consumer(redis.url)
        # On a busy machine that, too, may take longer.
        until(lambda: takes(told, event(1)))
        with redis.frozen(), pytest.raises(Exception, match=r"(?i)timeout|uncertain"):
            told.consume([event(2)])
        # It connects anew, and what comes now is to come once.
        monkeypatch.setattr("hooks.builtin.sinks.publisher.SOCKET_SECONDS", PATIENCE_SECONDS)
        redis.restart()
        consumer.bind()
        told.consume([event(2), event(3)])
        assert consumer.taken() == [(2, 1), (3, 2)]
        consumer.connection.release()


def test_rabbitmq_confirms_batches_and_refusals_are_told(
    rabbit_server: RabbitServer, sinks: list[BrokerSink]
) -> None:
    told, consumer = sink(sinks, rabbit_server.url), Consumer(rabbit_server.url)
    told.consume([event(number) for number in range(1, 501)])
    told.close()
    told.consume([event(501)])
    assert consumer.taken() == [(1, None), *((number, number - 1) for number in range(2, 502))]
    consumer.queue.delete()
    full = Consumer(rabbit_server.url, **{"x-max-length": 1, "x-overflow": "reject-publish"})
    with pytest.raises(NotConfirmed):
        told.consume([event(502), event(503), event(504)])
    full.queue.purge()
    told.consume([event(502)])
    assert full.taken() == [(502, 501)]
    full.connection.release()
    consumer.connection.release()
