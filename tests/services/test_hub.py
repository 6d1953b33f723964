"""The dashboard's reader of the history on a real server: away and back, and another one than before."""

import asyncio

import sqlalchemy as sa

from orchestrator.dashboard.hub import Hub
from orchestrator.dashboard.subscription import Topic
from orchestrator.store import migrations, tables
from orchestrator.store.store import Store
from tests.services.servers import PostgresServer
from tests.unit.orchestrator.dashboard.listening import FAST, heard, placed
from tests.waiting import PATIENCE_SECONDS, until_so


def with_a_stack(store: Store) -> None:
    values = {
        "id": "s",
        "name": "web",
        "project": "p",
        "root_id": "s",
        "action": "CREATE",
        "status": "COMPLETE",
    }
    times = {"timeout_minutes": 1.0, "created_at": 1.0, "updated_at": 1.0}
    with store.database.write() as connection:
        connection.execute(tables.stack.insert().values(**values, **times, traversal_id="t", template_id="d"))


def happens(store: Store, *resources: str, anew: bool = False) -> None:
    """Write events; ``anew`` in the place of all others, as if an older copy of the database had been put in place."""
    event = {"at": 1.0, "stack_id": "s", "traversal_id": "t", "action": "CREATE", "status": "COMPLETE"}
    with store.database.write() as connection:
        if anew:
            connection.execute(tables.event.delete())
            connection.exec_driver_sql("ALTER SEQUENCE event_id_seq RESTART")
        connection.execute(tables.event.insert(), [{**event, "resource": name} for name in resources])


def test_a_server_that_was_away_costs_no_event_and_another_one_is_noticed(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.create_database()
    migrations.upgrade(url)
    store = Store(url)
    with_a_stack(store)

    async def story() -> None:
        hub = Hub(store.event_log, pace=FAST)
        hub.start()
        await placed(hub)
        with hub.listen(Topic("p")) as listener:
            await asyncio.to_thread(happens, store, "a", "b")
            assert await heard(listener, 2) == [1, 2]
            await asyncio.to_thread(postgres_server.stop)
            try:
                await until_so(lambda: "does not answer" in hub.trouble)
            finally:
                # In this thread: it would end with another.
                postgres_server.launch()
            await asyncio.to_thread(happens, store, "c")
            await until_so(lambda: not hub.trouble)
            assert await heard(listener, 1) == [3]
            await asyncio.to_thread(happens, store, "a", anew=True)
            await until_so(listener.was_lost)
            await until_so(lambda: hub.position == 1)
            await asyncio.to_thread(happens, store, "b")
            assert await heard(listener, 1) == [2]
        await hub.close()

    try:
        asyncio.run(asyncio.wait_for(story(), PATIENCE_SECONDS))
    finally:
        store.close()


def test_whoever_keeps_a_transaction_open_makes_pages_late_and_they_say_so(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.create_database()
    migrations.upgrade(url)
    store = Store(url)
    with_a_stack(store)
    happens(store, *map(str, range(600)))

    async def story() -> None:
        with store.database.write() as older:
            older.execute(sa.text("SELECT pg_current_xact_id()"))
            hub = Hub(store.event_log, pace=FAST)
            hub.start()
            # Not where the history begins: nothing that happened long ago is told as if it were new.
            assert await placed(hub) == 600
            with hub.listen(Topic("p")) as listener:
                await asyncio.to_thread(happens, store, "a")
                await until_so(lambda: hub.late)
                told, beats = hub.as_of, hub.beats
                await until_so(lambda: hub.beats > beats + 1)
                assert (hub.position, hub.as_of, hub.trouble) == (600, told, "")
                older.commit()
                assert await heard(listener, 1) == [601]
                await until_so(lambda: not hub.late and hub.as_of > told)
        await hub.close()

    try:
        asyncio.run(asyncio.wait_for(story(), PATIENCE_SECONDS))
    finally:
        store.close()
