"""One order that cannot be sent stops no other, and travels without what makes it too large."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgpack
import pytest
import redis
from kombu.exceptions import OperationalError

from orchestrator.config.settings import Settings
from orchestrator.keys.envelope import Envelope
from orchestrator.model.check_batch import from_wire
from orchestrator.model.messages import CHECKS_QUEUE, CheckOrder
from orchestrator.queue.celery_app import QueuePublisher, make_app
from orchestrator.queue.installation import InstallationApp

ORDER = CheckOrder(stack_id="s", traversal_id="t", no=0, key="it", node_data=(b"small",))
GOOD = [replace(ORDER, no=no) for no in (1, 2, 3)]
#: What the broker of these tests takes at most; it allows no less.
MOST_BYTES = 1024 * 1024


@pytest.fixture
def app(redis_url: str) -> Iterator[InstallationApp]:
    with make_app(Settings(broker_url=redis_url, database_url="sqlite:///none")) as app:
        yield app


@pytest.fixture
def narrow(redis_url: str) -> Iterator[None]:
    """Let the broker break the connection over a large message."""
    with redis.Redis.from_url(redis_url) as client:
        (before,) = client.config_get("proto-max-bulk-len").values()
        client.config_set("proto-max-bulk-len", MOST_BYTES)
        try:
            yield
        finally:
            client.config_set("proto-max-bulk-len", before)


def sent(app: InstallationApp) -> list[CheckOrder]:
    """Take the orders that have come to the queue."""
    return sorted((order for batch in taken(app) for order in batch), key=lambda order: order.no)


def taken(app: InstallationApp) -> list[tuple[CheckOrder, ...]]:
    """Take the messages that have come to the queue."""
    found: list[tuple[CheckOrder, ...]] = []
    with app.connection_for_read() as connection, connection.channel() as channel:
        while message := channel.basic_get(CHECKS_QUEUE):
            arguments = msgpack.unpackb(Envelope.content_of(message.body))
            found.append(from_wire(arguments["orders"]))
            message.ack()
    return found


def test_an_order_that_no_message_holds_is_returned_and_the_others_are_sent(app: InstallationApp) -> None:
    unfit = replace(ORDER, key="a\ud800")
    returned = QueuePublisher(app).publish([unfit, GOOD[0], unfit, unfit, *GOOD[1:]])
    assert [order for order, _ in returned] == [unfit] * 3
    assert "surrogates not allowed" in returned[0][1]
    assert sent(app) == GOOD


def test_an_order_whose_data_cannot_travel_goes_without(app: InstallationApp) -> None:
    odd: Any = (object(),)
    assert QueuePublisher(app).publish([replace(ORDER, node_data=odd), *GOOD]) == []
    assert sent(app) == [replace(ORDER, node_data=None), *GOOD]


def test_an_order_that_the_broker_does_not_take_goes_without_its_data(
    app: InstallationApp, narrow: None
) -> None:
    large = replace(ORDER, node_data=(b"x" * MOST_BYTES * 2,))
    assert QueuePublisher(app).publish([large, *GOOD]) == []
    assert sent(app) == [replace(ORDER, node_data=None), *GOOD]


def test_one_that_the_broker_refuses_is_skipped_and_two_in_a_row_end_the_batch(
    app: InstallationApp, narrow: None
) -> None:
    refused = replace(ORDER, key="x" * MOST_BYTES * 2, node_data=())
    publisher = QueuePublisher(app)
    with pytest.raises(OperationalError):
        publisher.publish([refused, GOOD[0], refused, *GOOD[1:]])
    assert sent(app) == GOOD
    with pytest.raises(OperationalError):
        publisher.publish([GOOD[0], refused, refused, *GOOD[1:]])
    assert sent(app) == GOOD[:1]


def test_orders_of_one_operation_share_messages_of_the_size_that_is_set(app: InstallationApp) -> None:
    app.settings = app.settings.with_values(batch_size=3)
    orders = [replace(ORDER, no=no) for no in range(7)]
    other = replace(ORDER, traversal_id="other")
    assert QueuePublisher(app).publish([*orders, other, replace(other, alone=True)]) == []
    assert [len(batch) for batch in taken(app)] == [3, 3, 1, 1, 1]


def test_an_order_that_spoils_a_message_keeps_back_no_other_of_it(app: InstallationApp) -> None:
    orders = [replace(ORDER, no=no) for no in range(4)]
    orders[2] = replace(orders[2], key="a\ud800")
    returned = QueuePublisher(app).publish(orders)
    assert [order for order, _ in returned] == [orders[2]]
    assert sent(app) == [orders[no] for no in (0, 1, 3)]
