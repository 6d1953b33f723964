"""A listener is told what he listens to, in order; a slow one loses his place and costs nobody else anything."""

import asyncio
import json

from orchestrator.dashboard.sse import event_text, events_message, notice
from orchestrator.dashboard.subscription import Entry, Subscription, Topic
from tests.unit.orchestrator.dashboard.listening import happened


def offered(subscription: Subscription, *numbers: int) -> None:
    for number in numbers:
        subscription.offer(Entry.of(happened(number)))


def test_another_project_is_never_told_of() -> None:
    assert not Topic("p").has(happened(1, project="q"))
    assert not Topic("p", "web-id", name="web").has(happened(1, project="q"))
    assert not Topic("p", "db-id", name="web").is_successor(happened(1, project="q"))


def test_of_a_stack_its_own_events_are_told() -> None:
    topic = Topic("p", "web-id")
    assert topic.has(happened(1))
    assert not topic.has(happened(1, stack_id="db-id"))
    assert not topic.has(happened(1, stack_id="inner", parent_id="web-id"))


def test_stacks_in_a_stack_are_known_by_those_that_they_are_in() -> None:
    topic = Topic("p", "web-id", inside=["old-child"])
    assert topic.has(happened(1, stack_id="old-child", parent_id="web-id"))
    assert not topic.has(happened(2, stack_id="grandchild", parent_id="child"))
    assert topic.has(happened(3, stack_id="child", parent_id="web-id"))
    assert topic.has(happened(4, stack_id="grandchild", parent_id="child"))


def test_who_follows_a_name_begins_anew_when_another_stack_takes_it() -> None:
    listener = Subscription(Topic("p", "web-id", name="web"))
    offered(listener, 1)
    listener.offer(Entry.of(happened(2, stack_id="web-2")))
    assert listener.was_lost()
    listener.offer(Entry.of(happened(3, stack_id="web-2")))
    assert not listener.was_lost()
    assert [entry.row.id for entry in listener.take(9)] == [3]


def test_who_follows_an_id_hears_nothing_of_the_next_of_that_name() -> None:
    listener = Subscription(Topic("p", "web-id"))
    listener.offer(Entry.of(happened(2, stack_id="web-2")))
    assert not listener.was_lost()
    assert not listener.take(9)


def test_a_full_queue_is_dropped_and_said_so_once() -> None:
    listener = Subscription(Topic("p"), room=2)
    offered(listener, 1, 2)
    assert not listener.was_lost()
    offered(listener, 3, 4)
    assert listener.was_lost()
    assert not listener.was_lost()
    assert [entry.row.id for entry in listener.take(9)] == [4]


def test_what_is_known_is_not_told() -> None:
    listener = Subscription(Topic("p"))
    listener.known = 2
    offered(listener, 1, 2, 3)
    assert [entry.row.id for entry in listener.take(9)] == [3]


def test_whoever_waits_for_news_is_woken_or_told_that_there_is_none() -> None:
    async def story() -> None:
        listener = Subscription(Topic("p"))
        assert not await listener.news(0.001)
        offered(listener, 1)
        assert await listener.news(5)
        listener.nudge()
        assert await listener.news(5)

    asyncio.run(story())


def test_a_message_is_one_line_of_json_whatever_is_in_it() -> None:
    row = happened(7, reason="two\nlines\r\n\ndata: [] \u2028", cause="retry", worker="w1")
    written = events_message([event_text(row)], last_id=7).decode()
    head, number, data, *end = written.split("\n")
    assert (head, number, end) == ("event: events", "id: 7", ["", ""])
    (told,) = json.loads(data.removeprefix("data: "))
    assert (told["id"], told["reason"], told["cause"], told["worker"]) == (7, row.reason, "retry", "w1")
    # As a browser splits lines.
    assert len(data.splitlines()) == 1


def test_what_a_page_is_told_names_what_it_needs() -> None:
    told = json.loads(event_text(happened(1)))
    assert list(told) == [
        *("id", "at", "stack", "stack_id", "traversal_id", "resource", "resource_id", "type"),
        *("action", "status", "reason", "cause", "worker", "physical_id"),
    ]


def test_a_notice_moves_on_the_id_from_which_a_browser_comes_again() -> None:
    assert notice("tick", {"as_of": 1.5}, last_id=9) == (
        b'event: tick\nid: 9\ndata: {"as_of": "1970-01-01T00:00:01.500000Z"}\n\n'
    )
    assert notice("trouble", {"error": "away"}) == b'event: trouble\ndata: {"error": "away"}\n\n'
