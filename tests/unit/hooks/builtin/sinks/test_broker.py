"""The sink ``broker`` publishes events in order, packed as it was told, and says which came before."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from kombu.message import Message
from pydantic import SecretStr

from hooks.builtin.sinks.broker import BrokerOptions, BrokerSink
from tests.unit.hooks.builtin.sinks.histories import event, stack_event

NUMBERS = itertools.count()


class Consumer:
    """A queue on kombu's broker within this process, bound to an exchange of the test's own."""

    def __init__(self, connection: Connection, exchange: str, binding: str = "#") -> None:
        self.exchange = exchange
        topic = Exchange(exchange, type="topic", durable=True)
        self.queue = Queue(exchange + binding, topic, routing_key=binding)(connection.channel())
        self.queue.declare()

    def messages(self) -> list[Message]:
        taken = iter(lambda: self.queue.get(no_ack=True, accept=["json", "msgpack"]), None)
        return list(taken)

    def bodies(self) -> list[dict[str, Any]]:
        return [message.payload for message in self.messages()]


@pytest.fixture
def connection() -> Iterator[Connection]:
    with Connection("memory://") as connection:
        yield connection


@pytest.fixture
def consumer(connection: Connection) -> Consumer:
    return Consumer(connection, f"isotherm.events.{next(NUMBERS)}")


def sink(consumer: Consumer, **options: Any) -> BrokerSink:
    return BrokerSink(BrokerOptions(url=SecretStr("memory://"), exchange=consumer.exchange, **options))


@pytest.mark.parametrize("serializer", ["msgpack", "json"])
def test_a_message_is_the_event_and_the_id_of_the_one_before(serializer: str, consumer: Consumer) -> None:
    sink(consumer, serializer=serializer).consume([stack_event(7, status="IN_PROGRESS"), event(9)])
    first, second = consumer.messages()
    assert second.payload == {
        "version": 1,
        "id": 9,
        "at": 1_700_000_009.5,
        "stack_id": "stack-1",
        "stack_name": "shop",
        "project": "default",
        "operation_id": "operation-1",
        "resource": "disk",
        "resource_id": "resource-1",
        "type": "OS::Heat::Value",
        "action": "CREATE",
        "status": "COMPLETE",
        "reason": "",
        "physical_id": None,
        "cause": "",
        "worker": "",
        "user": "",
        "previous_id": 7,
    }
    assert first.payload["previous_id"] is None
    assert second.headers == {"id": 9, "stack_id": "stack-1", "version": 1}
    assert second.delivery_info["routing_key"] == "default.shop.resource.CREATE.COMPLETE"
    assert second.properties["delivery_mode"] == 2
    assert second.properties["message_id"] == "9"
    assert second.content_type == f"application/{'x-' if serializer == 'msgpack' else ''}{serializer}"


def test_a_binding_picks_what_its_words_say(connection: Connection) -> None:
    name = f"isotherm.events.{next(NUMBERS)}"
    failures = Consumer(connection, name, "*.*.*.*.FAILED")
    shop = Consumer(connection, name, "default.shop.#")
    sink(failures).consume([event(1), event(2, status="FAILED"), event(3, stack_name="other")])
    assert [body["id"] for body in failures.bodies()] == [2]
    assert [body["id"] for body in shop.bodies()] == [1, 2]


def test_another_process_goes_on_with_the_chain(consumer: Consumer) -> None:
    first, second = sink(consumer), sink(consumer)
    first.consume([event(1), event(2)])
    second.restore(first.save())
    second.consume([event(5)])
    assert [body["previous_id"] for body in consumer.bodies()] == [None, 1, 2]


def test_a_batch_that_failed_comes_again_with_the_same_words(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, batch = sink(consumer), [event(1), event(2)]
    with monkeypatch.context() as broken:
        broken.setattr("hooks.builtin.sinks.publisher.routing_key", {event(1): "a.b.c.d.e"}.__getitem__)
        with pytest.raises(KeyError):
            told.consume(batch)
    assert [body["id"] for body in consumer.bodies()] == [1]
    told.consume(batch)
    assert [(body["id"], body["previous_id"]) for body in consumer.bodies()] == [(1, None), (2, 1)]


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("localhost:6379", "expected a broker's URL"),
        ("rediss3://:password@host", "no transport 'rediss3'; did you mean 'rediss'"),
    ],
)
def test_a_url_that_is_none_is_refused_before_anything_is_sent(url: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        BrokerSink(BrokerOptions(url=SecretStr(url)))
    assert "password" not in str(refused.value)
