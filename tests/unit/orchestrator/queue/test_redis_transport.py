"""A consumer that holds messages gives them back when it leaves, and lives on when there is nobody to give them to."""

from collections.abc import Iterator
from typing import Any

import pytest
from kombu.entity import Queue
from kombu.messaging import Consumer

from orchestrator.config.settings import Settings
from orchestrator.queue.celery_app import make_app
from orchestrator.queue.redis_transport import Transport
from tests.services.fixtures import or_skip
from tests.services.servers import RedisServer
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def broker() -> Iterator[RedisServer]:
    """A Redis that may be stopped."""
    with or_skip(RedisServer.start) as server:
        yield server


def holding_messages(broker: RedisServer) -> Any:
    """Return a connection of two channels, each of which has taken a message and waits for the next."""
    connection = make_app(Settings(broker_url=broker.url)).connection()
    taken: list[Any] = []
    for name, channel in (("q1", connection.default_channel), ("q2", connection.channel())):
        queue = Queue(name, channel=channel)
        queue.declare()
        connection.Producer().publish("text", routing_key=name)
        Consumer(channel, queue, on_message=taken.append).consume()
    while len(taken) < 2:
        connection.drain_events(timeout=PATIENCE_SECONDS)
    with pytest.raises(TimeoutError):
        connection.drain_events(timeout=0.05)
    assert held_and_queued(broker) == (2, 0)
    return connection


def held_and_queued(broker: RedisServer) -> tuple[int, int]:
    with broker.client() as client:
        return int(client.hlen("unacked")), int(client.llen("q1")) + int(client.llen("q2"))


def test_messages_are_given_back_when_their_consumer_leaves(broker: RedisServer) -> None:
    holding_messages(broker).close()
    assert held_and_queued(broker) == (0, 2)


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_the_app_uses_it_and_shows_the_url_as_it_is(scheme: str) -> None:
    url = f"{scheme}://localhost:6379/0"
    connection = make_app(Settings(broker_url=url)).connection()
    assert isinstance(connection.transport, Transport)
    assert connection.as_uri(include_password=True) == url


def test_a_consumer_with_messages_gets_over_the_loss_of_its_broker(broker: RedisServer) -> None:
    connection = holding_messages(broker)
    channel = connection.default_channel
    (tag,) = channel.qos._delivered
    broker.stop()
    # As Celery does, which dies of any exception but that of a lost connection.
    connection.collect(socket_timeout=1)
    connection.close()
    with pytest.raises(connection.connection_errors, match="was closed"):
        channel.basic_ack(tag)
    broker.launch()
    holding_messages(broker).close()


def test_a_channel_has_one_client_until_its_connections_are_closed(broker: RedisServer) -> None:
    with make_app(Settings(broker_url=broker.url)).connection() as connection:
        channel = connection.default_channel
        client = channel._create_client()
        assert channel._create_client() is client
        channel._disconnect_pools()
        assert channel._create_client() is not client
        assert channel._create_client().ping()
