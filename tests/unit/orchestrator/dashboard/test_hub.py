"""The one reader of the history misses nothing, tells nothing twice to those who stay, and keeps nothing for long."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.dashboard import hub as hubs
from orchestrator.dashboard.hub import BATCH, MOST_MISSED, RING, Hub, Missed, TooManyStreams
from orchestrator.dashboard.subscription import Topic
from orchestrator.errors import Conflict, Unavailable
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.listening import Log, happened, heard, placed, reading
from tests.waiting import PATIENCE_SECONDS, until_so

ALL = Topic("p")


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE_SECONDS))


async def ids_missed(hub: Hub, since: int, up_to: int, topic: Topic = ALL) -> list[int]:
    return [entry.row.id async for entries in hub.missed(topic, since, up_to) for entry in entries]


def test_what_happens_is_heard_once_and_in_order() -> None:
    async def story() -> None:
        log = Log([happened(1), happened(2)])
        async with reading(log) as hub:
            await placed(hub)
            with hub.listen(ALL) as listener:
                log.add(*(happened(number) for number in range(3, 3 + BATCH + 7)))
                assert await heard(listener, BATCH + 7) == list(range(3, 3 + BATCH + 7))

    run(story())


def test_an_event_that_another_may_still_precede_is_held_back() -> None:
    async def story() -> None:
        log = Log([happened(1)])
        async with reading(log) as hub:
            await placed(hub)
            with hub.listen(ALL) as listener:
                log.horizon = 1
                log.add(happened(3))
                beats = hub.beats
                await until_so(lambda: hub.beats > beats + 1)
                assert not listener.take(9)
                # The one that was given its id first commits last.
                log.rows.insert(1, happened(2))
                log.horizon = 3
                assert await heard(listener, 2) == [2, 3]

    run(story())


def test_a_database_that_is_away_is_told_and_nothing_is_missed_when_it_is_back() -> None:
    async def story() -> None:
        log = Log([happened(1)])
        async with reading(log) as hub:
            await placed(hub)
            with hub.listen(ALL) as listener:
                log.is_away = True
                await until_so(lambda: "away" in hub.trouble)
                log.add(happened(2))
                log.is_away = False
                await until_so(lambda: not hub.trouble)
                assert await heard(listener, 1) == [2]

    run(story())


def test_a_database_that_does_not_answer_at_all_is_told_while_it_does_not() -> None:
    async def story() -> None:
        log = Log([happened(1)])
        async with reading(log) as hub:
            await placed(hub)
            log.answers.clear()
            beats = hub.beats
            await until_so(lambda: "has not answered" in hub.trouble and hub.beats > beats + 1)
            log.answers.set()
            await until_so(lambda: not hub.trouble)

    run(story())


def test_a_mistake_of_ours_ends_no_stream() -> None:
    async def story() -> None:
        log = Log()
        seen: list[int] = []

        def observe(rows: Any) -> None:
            if not seen:
                seen.append(0)
                raise RuntimeError("a mistake")
            seen.extend(row.id for row in rows)

        async with reading(log, observe=observe) as hub:
            await placed(hub)
            with hub.listen(ALL) as listener:
                log.add(happened(1))
                await until_so(lambda: "see its log" in hub.trouble)
                log.add(happened(2))
                assert await heard(listener, 2) == [1, 2]
                await until_so(lambda: not hub.trouble and seen == [0, 2])

    run(story())


def test_when_the_history_is_another_one_everybody_begins_anew() -> None:
    async def story() -> None:
        log = Log([happened(number) for number in range(1, 10)])
        async with reading(log) as hub:
            await placed(hub)
            with hub.listen(ALL) as listener:
                listener.known = 9
                log.rows, log.newest = [happened(1)], 1
                await until_so(lambda: hub.position == 1)
                assert listener.was_lost()
                assert log.began_again == 1
                log.add(happened(2))
                await until_so(lambda: [entry.row.id for entry in listener.take(9)] == [2])

    run(story())


def test_those_who_come_again_after_a_moment_cost_the_database_nothing() -> None:
    async def story() -> None:
        log = Log([happened(1)])
        async with reading(log) as hub:
            await placed(hub)
            log.add(*(happened(number) for number in range(2, 2 + RING + 10)))
            await until_so(lambda: hub.position == RING + 11)
            reads = log.reads
            assert await ids_missed(hub, RING + 5, RING + 11) == list(range(RING + 6, RING + 12))
            assert await ids_missed(hub, 11, RING + 11) == list(range(12, RING + 12))
            assert log.reads == reads
            # One more than is remembered.
            assert await ids_missed(hub, 10, RING + 11) == list(range(11, RING + 12))
            assert log.reads > reads

    run(story())


def test_the_hub_remembers_a_few_events_and_not_the_history() -> None:
    async def story() -> None:
        log = Log()
        async with reading(log) as hub:
            await placed(hub)
            log.add(*(happened(number) for number in range(1, 3 * RING)))
            await until_so(lambda: hub.position == 3 * RING - 1)
            assert len(hub._ring) == RING

    run(story())


@pytest.mark.parametrize(
    ("since", "why"),
    [
        pytest.param(3, "removed", id="what was missed was removed"),
        pytest.param(MOST_MISSED + 1_000, "never", id="of another database"),
        pytest.param(8, "too much", id="too much"),
    ],
)
def test_who_missed_what_cannot_be_told_begins_anew(since: int, why: str) -> None:
    async def story() -> None:
        log = Log([happened(number) for number in range(8, MOST_MISSED + 10)])
        async with reading(log) as hub:
            position = await placed(hub)
            with pytest.raises(Missed, match=why):
                await ids_missed(hub, since, position)

    run(story())


def test_one_stacks_events_that_were_removed_are_missed_by_those_who_listen_to_more() -> None:
    async def story() -> None:
        child = {"stack": "child", "stack_id": "child-id", "parent_id": "web-id"}
        log = Log([happened(1), happened(4, **child), happened(5)])
        async with reading(log) as hub:
            position = await placed(hub)
            for topic in (ALL, Topic("p", "web-id", inside=["child-id"])):
                with pytest.raises(Missed, match="removed"):
                    await ids_missed(hub, 2, position, topic)
            assert await ids_missed(hub, 2, position, Topic("p", "web-id")) == [5]
            assert await ids_missed(hub, 4, position) == [5]

    run(story())


def test_whoever_knew_another_stack_of_the_name_begins_anew() -> None:
    async def story() -> None:
        log = Log([happened(1), happened(2, action="DELETE")])
        async with reading(log) as hub:
            await placed(hub)
            begun: dict[str, Any] = {"stack_id": "new-id", "resource": "", "status": "IN_PROGRESS"}
            log.add(happened(3, **begun), happened(4, stack_id="new-id"))
            await until_so(lambda: hub.position == 4)
            by_name, by_id = Topic("p", "new-id", name="web"), Topic("p", "new-id")
            with pytest.raises(Missed, match="taken the name"):
                await ids_missed(hub, 2, 4, by_name)
            assert await ids_missed(hub, 2, 4, by_id) == [3, 4]
            assert await ids_missed(hub, 3, 4, by_name) == [4]

    run(story())


def test_an_event_that_the_hub_has_not_reached_yet_is_no_sign_of_another_database() -> None:
    async def story() -> None:
        log = Log([happened(1), happened(2)])
        log.horizon = 1
        async with reading(log) as hub:
            assert await placed(hub) == 1
            assert await ids_missed(hub, 2, 1) == []

    run(story())


def test_so_many_may_listen_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        monkeypatch.setattr(hubs, "MOST_LISTENERS", 1)
        async with reading(Log()) as hub:
            with hub.listen(ALL), pytest.raises(Unavailable, match="no more may"), hub.listen(ALL):
                pass
            with hub.listen(ALL):
                assert hub.listeners == 1
            assert hub.listeners == 0

    run(story())


def test_a_client_may_listen_so_often_and_others_still_may() -> None:
    async def story() -> None:
        async with reading(Log(), most_of_client=1) as hub:
            with hub.listen(ALL, client="ann"), hub.listen(ALL, client="bob"):
                with (
                    pytest.raises(TooManyStreams, match="ann has 1 streams open"),
                    hub.listen(ALL, client="ann"),
                ):
                    pass
                assert hub.listeners == 2
            with hub.listen(ALL, client="ann"):
                assert hub.listeners == 1

    run(story())


def test_project_may_have_so_many_streams_and_others_still_may() -> None:
    async def story() -> None:
        async with reading(Log()) as hub:
            limits = {"streams": 1}
            with hub.listen(ALL, client="ann", limits=limits):
                with (
                    pytest.raises(Conflict, match=r"project 'p' may have 1 streams .* it has 1"),
                    hub.listen(Topic("p", "stack"), client="bob", limits=limits),
                ):
                    pass
                with hub.listen(Topic("q"), client="bob", limits=limits):
                    assert hub.listeners == 2
            with hub.listen(ALL, client="bob", limits=limits):
                assert hub.listeners == 1

    run(story())


@settings(max_examples=25)
@given(
    batches=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    breaks=st.lists(st.booleans(), min_size=6, max_size=6),
    room=st.integers(1, 60),
)
def test_whoever_goes_and_comes_again_knows_everything_in_the_end(
    batches: list[int], breaks: list[bool], room: int
) -> None:
    """As a page does: it keeps what it heard, comes again with the last id, and loads anew when it is told to."""

    async def story() -> None:
        log = Log([happened(1)])
        async with reading(log) as hub:
            known, last = {1}, await placed(hub)
            listening = hub.listen(Topic("p"), room=room)
            listener = listening.__enter__()

            def catch_up() -> None:
                nonlocal known, last
                if listener.was_lost():
                    # What is loaded was read later than all that was dropped.
                    last = hub.position or 0
                    known = {row.id for row in log.rows if row.id <= last}
                told = [entry.row.id for entry in listener.take(1_000)]
                assert told == sorted(told)
                known |= set(told)
                last = max([last, *told])

            for size, broken in zip(batches, breaks, strict=False):
                log.add(*(happened(log.newest + 1 + number) for number in range(size))) if size else None
                await until_so(lambda: hub.position == log.newest)
                if not broken:
                    catch_up()
                    continue
                listening.__exit__(None, None, None)
                listening = hub.listen(Topic("p"), room=room)
                listener = listening.__enter__()
                assert hub.position is not None
                known |= set(await ids_missed(hub, last, hub.position))
                last = listener.known = hub.position
            catch_up()
            assert known == {row.id for row in log.rows}

    run(story())


def test_a_real_database_that_is_away_is_told_at_once() -> None:
    async def story() -> None:
        log = Store("postgresql://nobody@127.0.0.1:1/none").event_log
        async with reading(log) as hub:
            await until_so(lambda: "the database does not answer" in hub.trouble)

    run(story())
