"""Nodes asked over real brokers: what all of them promise, and what becomes of it when a broker loses its memory."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import msgpack
import pytest

from cache.node_state.errors import NodeTimeout
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.keys.envelope import Envelope
from orchestrator.nodes.rpc.kombu_transport import KombuTransport, mailbox_address, queue_of
from orchestrator.nodes.rpc.mailbox import Mailbox, Poster
from orchestrator.nodes.rpc.messages import Reply, Request
from orchestrator.nodes.rpc.sealing import Seal
from orchestrator.queue.celery_app import make_app
from orchestrator.queue.serializers import SEALED
from tests.services.fixtures import or_skip
from tests.services.process import free_port
from tests.services.rabbit import RabbitServer
from tests.services.servers import RedisServer
from tests.waiting import until

#: Longer than any answer takes; waited for in full only by who gets none.
LONG = 300.0

Promise = Callable[[KombuTransport, "Agent", str], None]


class Agent:
    """Answers at a node's mailbox with what it was asked, as an agent does that knows nothing."""

    def __init__(self, settings: Settings, node: str) -> None:
        self.node = node
        app = make_app(settings)
        self._seal = Seal(settings, app.keys, node=node)
        self._poster = Poster(app)
        self.forget()
        self.mailbox = Mailbox(app, mailbox_address(node), self._seal, on_message=self._receive)
        self.mailbox.start()
        assert self.mailbox.wait_until_heard(LONG)

    def forget(self) -> None:
        """Be as new."""
        self.asked: list[Request] = []
        #: Called before an answer; answers leave in the order in which it returns.
        self.before: Callable[[Request], None] = lambda _request: None

    def _receive(self, address: str, data: bytes) -> None:
        request, reply_to, _ = self._seal.opened_read(data, address=address)
        self.asked.append(request)
        threading.Thread(target=self._answer, args=(request, reply_to)).start()

    def _answer(self, request: Request, reply_to: str) -> None:
        self.before(request)
        reply = Reply(
            id=request.id,
            node=self.node,
            incarnation="1",
            boot_id="b",
            seq=0,
            inflight=0,
            taken_at=1.0,
            duration_seconds=0.5,
            result=dict(request.arguments),
        )
        self._poster.post(
            reply_to, self._seal.reply(reply, address=reply_to, seconds=LONG), keep_seconds=LONG
        )


def request(node: str, **arguments: Any) -> Request:
    return Request(
        id=uuid.uuid4().hex, node=node, rpc="look", arguments=arguments, deadline=time.time() + LONG
    )


@contextmanager
def agent_of(broker_url: str, node: str) -> Iterator[Agent]:
    """Give an agent that is heard."""
    agent = Agent(Settings(broker_url=broker_url), node)
    try:
        yield agent
    finally:
        agent.mailbox.close()


@contextmanager
def asked_over(broker_url: str) -> Iterator[tuple[KombuTransport, Agent]]:
    """Give a transport, and an agent of a name that nobody has had."""
    transport = KombuTransport(Settings(broker_url=broker_url))
    try:
        with agent_of(broker_url, new_name()) as agent:
            yield transport, agent
    finally:
        transport.close()


def new_name() -> str:
    return f"n-{next(_NUMBERS)}"


#: Of names for which there are keys.
_NUMBERS = count()


# What every broker promises.


def a_node_answers_what_it_was_asked(transport: KombuTransport, agent: Agent, broker_url: str) -> None:
    reply = transport.read(request(agent.node, name="é", number=7), timeout_seconds=LONG)
    assert (reply.node, reply.result) == (agent.node, {"name": "é", "number": 7})
    assert [each.rpc for each in agent.asked] == ["look"]


def one_node_alone_hears_what_is_for_it(transport: KombuTransport, agent: Agent, broker_url: str) -> None:
    with agent_of(broker_url, new_name()) as other:
        transport.read(request(other.node), timeout_seconds=LONG)
    assert agent.asked == []


def a_node_that_hangs_over_one_answer_gives_the_others(
    transport: KombuTransport, agent: Agent, broker_url: str
) -> None:
    released = threading.Event()
    agent.before = lambda asked: None if asked.arguments["quick"] else assert_set(released)
    slow: list[Any] = []
    asker = threading.Thread(
        target=lambda: slow.append(
            transport.read(request(agent.node, quick=False), timeout_seconds=LONG).result
        )
    )
    asker.start()
    quick = [transport.read(request(agent.node, quick=True), timeout_seconds=LONG).result for _ in range(3)]
    assert (quick, slow) == ([{"quick": True}] * 3, [])
    released.set()
    asker.join(LONG)
    assert slow == [{"quick": False}]


def assert_set(event: threading.Event) -> None:
    assert event.wait(LONG)


def an_answer_that_comes_too_late_is_nobody_elses(
    transport: KombuTransport, agent: Agent, broker_url: str
) -> None:
    released, left = threading.Event(), threading.Event()

    def hold(asked: Request) -> None:
        if asked.arguments["number"] == 1:
            assert_set(released)

    agent.before = hold
    with pytest.raises(NodeTimeout, match=f"{agent.node}.* did not answer within 0.05 s"):
        transport.read(request(agent.node, number=1), timeout_seconds=0.05)

    def let_go(_asked: Request) -> None:
        # The late answer is on its way before this one.
        released.set()
        left.wait(0.05)

    agent.before = let_go
    assert transport.read(request(agent.node, number=2), timeout_seconds=LONG).result == {"number": 2}
    assert transport.read(request(agent.node, number=3), timeout_seconds=LONG).result == {"number": 3}


def an_absent_node_answers_nothing_and_nothing_waits_for_it(
    transport: KombuTransport, agent: Agent, broker_url: str
) -> None:
    transport.read(request(agent.node), timeout_seconds=LONG)
    absent = new_name()
    with pytest.raises(NodeTimeout):
        transport.read(request(absent, number=1), timeout_seconds=0.05)
    with agent_of(broker_url, absent) as late:
        assert transport.read(request(absent, number=2), timeout_seconds=LONG).result == {"number": 2}
    assert [each.arguments for each in late.asked] == [{"number": 2}]


def mutations_wait_in_their_nodes_queue_in_the_order_of_sending(
    transport: KombuTransport, agent: Agent, broker_url: str
) -> None:
    node = new_name()
    for number in range(3):
        transport.send(request(node, number=number))
    with (
        make_app(Settings(broker_url=broker_url)).connection() as connection,
        connection.channel() as channel,
    ):
        queue = queue_of(node)(channel)
        taken = [queue.get(no_ack=True, accept=[SEALED]) for _ in range(4)]
        queue.delete()
    assert taken.pop() is None
    assert [each.headers["task"] for each in taken] == ["node.call"] * 3
    calls = [msgpack.unpackb(Envelope.content_of(each.body)) for each in taken]
    settings = Settings(broker_url=broker_url)
    seal = Seal(settings, make_app(settings).keys, node=node)
    assert [seal.opened_call(each["request"]).arguments for each in calls] == [
        {"number": n} for n in range(3)
    ]
    assert not [each for each in taken if b"number" in each.body], "arguments are encrypted"
    # Event readers are shown no argument.
    assert "number" not in str([each.headers for each in taken])


PROMISES = (
    a_node_answers_what_it_was_asked,
    one_node_alone_hears_what_is_for_it,
    a_node_that_hangs_over_one_answer_gives_the_others,
    an_answer_that_comes_too_late_is_nobody_elses,
    an_absent_node_answers_nothing_and_nothing_waits_for_it,
    mutations_wait_in_their_nodes_queue_in_the_order_of_sending,
)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_on_redis(promise: Promise, redis_url: str) -> None:
    with asked_over(redis_url) as (transport, agent):
        promise(transport, agent, redis_url)


def test_on_rabbitmq(rabbit_server: RabbitServer) -> None:
    # One test: its server takes seconds to start, and more than one process may run tests.
    with asked_over(rabbit_server.url) as (transport, agent):
        for promise in PROMISES:
            agent.forget()
            promise(transport, agent, rabbit_server.url)


def test_a_redis_that_was_emptied_is_no_matter(redis_server: RedisServer, redis_url: str) -> None:
    settings = Settings(broker_url=redis_url)
    transport, agent = KombuTransport(settings), Agent(settings, "n1")
    with redis_server.client(int(redis_url.rpartition("/")[2])) as client:
        transport.read(request("n1"), timeout_seconds=LONG)
        with pytest.raises(NodeTimeout):
            transport.read(request("absent"), timeout_seconds=0.05)
        assert client.keys() == [], "nothing of it outlives whoever is killed now"
        transport.send(request("n1"))
        client.flushdb()
        assert transport.read(request("n1", number=1), timeout_seconds=LONG).result == {"number": 1}
        transport.close()
        agent.mailbox.close()
        assert client.keys() == []


def test_who_asks_a_broker_that_is_away_is_told_so() -> None:
    transport = KombuTransport(Settings(broker_url=f"redis://127.0.0.1:{free_port()}/0"))
    with pytest.raises(Unavailable, match="the broker does not answer"):
        transport.send(request("n1"))
    # It is known, and nobody is held up by it: who waits is told of the time that is up.
    for _ in range(3):
        with pytest.raises(Unavailable, match=r"the broker does not answer: .*refused"):
            transport.read(request("n1"), timeout_seconds=LONG)
    transport.close()


def is_asked(transport: KombuTransport) -> bool:
    try:
        transport.read(request("n1"), timeout_seconds=LONG)
    except Unavailable:
        return False
    return True


def test_a_broker_that_was_restarted_is_listened_to_anew() -> None:
    with or_skip(RedisServer.start) as redis:
        settings = Settings(broker_url=redis.url)
        transport, agent = KombuTransport(settings), Agent(settings, "n1")
        transport.read(request("n1"), timeout_seconds=LONG)
        stuck = threading.Event()
        agent.before = lambda _asked: assert_set(stuck)
        lost: list[str] = []

        def ask() -> None:
            with pytest.raises(Unavailable, match="was lost"):
                transport.read(request("n1"), timeout_seconds=LONG)
            lost.append("told")

        asker = threading.Thread(target=ask)
        asker.start()
        while len(agent.asked) < 2:
            stuck.wait(0.01)
        redis.stop()
        asker.join(LONG)
        assert lost == ["told"]
        stuck.set()
        agent.before = lambda _asked: None
        redis.launch()
        assert agent.mailbox.wait_until_heard(LONG)
        until(lambda: is_asked(transport))
        assert transport.read(request("n1", number=1), timeout_seconds=LONG).result == {"number": 1}
        transport.close()
        agent.mailbox.close()
