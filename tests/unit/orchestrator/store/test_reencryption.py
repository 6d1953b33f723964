"""Re-encryption: whenever it dies, and whatever is written meanwhile, everything is readable with the new key alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgpack
import pytest
import sqlalchemy as sa
from cryptography.fernet import Fernet

from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.codec import Codec, Place, plain
from orchestrator.model.sentences import UNREADABLE
from orchestrator.store import tables
from orchestrator.store.installation.reencryption import Reencryption, encrypted_tables
from orchestrator.store.rows import Values
from orchestrator.store.store import Store
from tests.migrated import migrate
from tests.services.servers import PostgresServer
from tests.unit.orchestrator.store.packed_rows import everything, own_text, write_rows

OLD, NEW = "Y1bBqCh5B1mYV0gxbQ7rVbW6Tq7l4V3m1t5i0y3r2nA=", "bXktb3RoZXIta2V5LW9mLTMyLWJ5dGVzLWhlcmUhISE="
LOST = "Nn7p5V1QbYy8C0m0q2mXo3vX1tq3x6gkz0a1bB2cC3E="

Pack = Callable[[object, Place], bytes]


def token(value: object, place: Place) -> bytes:
    """Return a value as earlier versions stored it."""
    return b"\x01" + Fernet(OLD).encrypt(msgpack.packb(value))


#: The forms in which values may be found.
FORMS: dict[str, Pack] = {
    "under the old key": Codec([OLD]).pack,
    "Fernet tokens": token,
    "plain": lambda value, place: plain(value),
}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        made = server.create_database()
    else:
        made = f"sqlite:///{tmp_path}/s.db"
    migrate(made)
    return made


@pytest.fixture
def opened(url: str) -> Iterator[Callable[..., Store]]:
    """Return what opens the database with some keys."""
    stores: list[Store] = []

    def open_with(*keys: str) -> Store:
        store = Store(url, codec=Codec(keys))
        store.database.seal_sentences(keys)
        stores.append(store)
        return store

    yield open_with
    for store in stores:
        store.close()


def written(opened: Callable[..., Store], form: str) -> dict[str, list[Any]]:
    """Fill the database with what an installation with the old key has; return what it is."""
    old = opened(*(() if form == "plain" else (OLD,)))
    write_rows(old.database, FORMS[form])
    return everything(old.database, old.codec)


@pytest.mark.parametrize("form", FORMS)
def test_everything_is_readable_with_the_new_key_alone(opened: Callable[..., Store], form: str) -> None:
    before = written(opened, form)
    columns = {f"{table.name}.{column}" for table in encrypted_tables() for column in table.columns}
    assert before.keys() == columns
    assert all(own_text(row) in repr(values) for values in before.values() for row in ("a", "b"))
    done = opened(NEW, OLD).reencryption.run(batch=1)
    assert not done.unreadable
    assert dict(done.rows) == {table.name: 2 for table in encrypted_tables()}
    new = opened(NEW)
    assert everything(new.database, new.codec) == before
    assert new.identity.is_reencrypted()
    new.codec.refuses_unbound = lambda: True
    assert everything(new.database, new.codec) == before
    assert new.reencryption.count().keys() == {"the newest key"}
    # The second time, there is nothing to do.
    assert new.reencryption.run().rows.total() == 0


#: Runs in a process that has imported everything: each line of input names an instant at which a forked one dies.
DIES = """
import os, signal, sys
import sqlalchemy as sa
from orchestrator.model.codec import Codec
from orchestrator.store.store import Store

url, keys = sys.argv[1], os.environ["KEYS"].split(",")

def reencrypt(when):
    store = Store(url, codec=Codec(keys))
    store.database.seal_sentences(keys)
    updates = 0

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def executed(connection, cursor, statement, *rest):
        nonlocal updates
        if statement.startswith("UPDATE") and "identity" not in statement:
            updates += 1
            if when == "within" and updates == 2:
                die()

    sa.event.listen(store.database.engine, "after_cursor_execute", executed)
    done = store.reencryption.run(lambda rows: die() if when == "after" and rows.total() else None, batch=4)
    assert not done.unreadable

for line in sys.stdin:
    if (pid := os.fork()) == 0:
        code = 1
        try:
            reencrypt(line.strip())
            code = 0
        finally:
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def test_after_a_kill_at_every_batch_the_next_run_continues(url: str, opened: Callable[..., Store]) -> None:
    before = written(opened, "under the old key")
    kills = 0
    environment = {**os.environ, "KEYS": f"{NEW},{OLD}"}
    with subprocess.Popen(
        [sys.executable, "-c", DIES, url],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as forking:
        assert forking.stdin is not None
        assert forking.stdout is not None
        for number in count():
            forking.stdin.write(f"{('within', 'after')[number % 2]}\n")
            forking.stdin.flush()
            ended = int(forking.stdout.readline())
            assert ended in (0, -signal.SIGKILL)
            if ended == 0:
                break
            kills += 1
            # Whatever died where: both keys read everything.
            both = opened(NEW, OLD)
            assert everything(both.database, both.codec) == before
        forking.stdin.close()
    assert kills > 10
    # A run that was not killed had nothing to do, or one batch.
    opened(NEW, OLD).reencryption.run()
    new = opened(NEW)
    assert everything(new.database, new.codec) == before


@pytest.mark.parametrize("of", ["value", "sentence"])
def test_what_is_written_meanwhile_stays(
    opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    written(opened, "Fernet tokens")
    store = opened(NEW, OLD)
    place = "resource", "data", "resource-a"
    newer = {"data": store.codec.pack({"newer": 1}, place)} if of == "value" else {"reason": "a newer reason"}
    write = Reencryption._write
    raced: list[str] = []

    def overtaken(self: Reencryption, table: Any, changes: Sequence[Values]) -> int:
        if table.name == "resource" and not raced:
            raced.append(table.name)
            mine = tables.resource.update().where(tables.resource.c.id == "resource-a")
            store.database.change(mine.values(**newer))
        return write(self, table, changes)

    monkeypatch.setattr(Reencryption, "_write", overtaken)
    assert not store.reencryption.run().unreadable
    assert raced
    new = opened(NEW)
    found = everything(new.database, new.codec)
    expected: Any = {"newer": 1} if of == "value" else "a newer reason"
    assert expected in found["resource.data" if of == "value" else "resource.reason"]
    # The row's other columns were rewritten, too.
    assert all(UNREADABLE not in values for values in found.values())


def test_what_cannot_be_read_is_named_and_stays_and_the_rest_is_rewritten(
    opened: Callable[..., Store],
) -> None:
    written(opened, "under the old key")
    lost = Codec([LOST]).pack({"lost": 1}, ("resource", "data", "resource-a"))
    store = opened(NEW, OLD)
    mine = tables.resource.c.id == "resource-a"
    store.database.change(tables.resource.update().where(mine).values(data=lost))
    moved = sa.select(tables.annotation.c.value).where(tables.annotation.c.stack_id == "stack-a")
    at_b = tables.annotation.update().where(tables.annotation.c.stack_id == "stack-b")
    store.database.change(at_b.values(value=store.database.value(moved)))
    # The column seals what is written, so that it is written as it is.
    raw = sa.text("UPDATE machine SET drain_reason = :raw")
    store.database.change(raw, {"raw": "\x01sealed:AAAA"})
    done = store.reencryption.run()
    named = sorted(each.split(":")[0] for each in done.unreadable)
    assert named == [
        "annotation.value of stack-b/plugin/it",
        "machine.drain_reason of machine-a",
        "machine.drain_reason of machine-b",
        "resource.data of resource-a",
    ]
    assert done.rows["resource"] == 2
    assert not store.identity.is_reencrypted()
    assert store.database.value(sa.select(tables.resource.c.data).where(mine)) == lost
    store.database.change(tables.resource.update().where(mine).values(data=None))
    store.database.change(tables.annotation.delete())
    store.database.change(tables.machine.delete())
    assert not store.reencryption.run().unreadable
    assert opened(NEW).identity.is_reencrypted()


def test_processes_that_write_with_another_key_are_noticed(
    opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    written(opened, "under the old key")
    store, late = opened(NEW, OLD), opened(OLD, NEW)
    place = "resource", "data", "resource-a"
    write = Reencryption._write

    def followed(self: Reencryption, table: Any, changes: Sequence[Values]) -> int:
        done = write(self, table, changes)
        if table.name == "resource":
            values = {"data": late.codec.pack({"late": 1}, place)}
            late.database.change(
                tables.resource.update().where(tables.resource.c.id == "resource-a").values(**values)
            )
        return done

    monkeypatch.setattr(Reencryption, "_write", followed)
    with pytest.raises(Conflict, match="restart all processes with the newest key first"):
        store.reencryption.run()
    assert not store.identity.is_reencrypted()


def test_without_a_key_there_is_nothing_to_encrypt_with(opened: Callable[..., Store]) -> None:
    with pytest.raises(InvalidInput, match="no encryption key"):
        opened().reencryption.run()
    with pytest.raises(InvalidInput, match="no encryption key"):
        opened().reencryption.count()


def test_what_is_encrypted_with_what_is_counted(opened: Callable[..., Store]) -> None:
    written(opened, "plain")
    columns = sum(len(table.columns) for table in encrypted_tables())
    store = opened(NEW, OLD)
    assert store.reencryption.count() == {"no key": 2 * columns}
    packed = store.codec.pack({}, ("resource", "data", "resource-a"))
    store.database.change(
        tables.resource.update().where(tables.resource.c.id == "resource-a").values(data=packed)
    )
    assert store.reencryption.count() == {"no key": 2 * columns - 1, "the newest key": 1}
    late = opened(OLD).reencryption.count()
    assert late == {"no key": 2 * columns - 1, "another key, or bound to no row": 1}
