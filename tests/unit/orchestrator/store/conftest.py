"""Every store there is, for the one suite that all of them must pass."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

import pytest

from orchestrator.model.codec import Codec
from orchestrator.model.messages import END, JOIN, CheckOrder
from orchestrator.model.plan import DesiredResource, plan_create
from orchestrator.store import migrations
from orchestrator.store.database import Database
from orchestrator.store.nodes.claims import Claim, Ending, Finished, Outcome
from orchestrator.store.repository import Timings
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import NewTraversal
from tests.emptying import empty
from tests.services.pgbouncer import PgBouncerServer
from tests.services.servers import PostgresServer

KEY = "Y1bBqCh5B1mYV0gxbQ7rVbW6Tq7l4V3m1t5i0y3r2nA="


class FakeClock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


class Bench:
    """A store with a fake clock, and short words for what the tests do to it."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock

    def begin(
        self,
        requires: dict[str, set[str]],
        *,
        stack: str = "s",
        minutes: float = 60,
        job_id: str | None = None,
        rollback: bool = False,
        hooks: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> list[CheckOrder]:
        """Begin a stack of resources that require each other so; return the first orders."""
        desired_resources = [
            DesiredResource(
                name=name,
                type="Test",
                resource_id=f"{stack}-{name}",
                fragment={"definition": {}, **({"hooks": list(hooks[name])} if name in hooks else {})},
                requires=frozenset(others),
                wanted=frozenset(),
            )
            for name, others in requires.items()
        ]
        plan = plan_create(desired_resources)
        new = NewTraversal(
            id=f"{stack}-t1",
            stack_id=f"{stack}-id",
            stack=stack,
            project="p",
            template_id="none",
            timeout_minutes=minutes,
            plan=plan,
            context={"name": stack},
            new_types={f"{stack}-{name}": "Test" for name in requires},
            job_id=job_id,
            options={"rollback": True} if rollback else {},
        )
        self.store.traversal_starts.begin_create(new)
        return [
            CheckOrder(
                stack_id=new.stack_id,
                traversal_id=new.id,
                no=node.no,
                key=node.key,
                phase=node.phase,
                stack=stack,
                action=node.action,
                node_data=(),
            )
            for node in plan.ready
        ]

    def claim(self, order: CheckOrder, worker: str = "w") -> Claim:
        """Claim an order that must be claimable."""
        claim = self.store.nodes.claim(order, worker=worker)
        assert claim is not None
        return claim

    def finish(
        self, claim: Claim, ending: Ending = Ending.DONE, seconds: float = 0, reason: str = ""
    ) -> Finished:
        """Finish a step as a worker would."""
        key = claim.order.key
        data = [claim.resource_id, key, "CREATE", "COMPLETE", f"physical-{key}", f"physical-{key}", []]
        return self.store.nodes.finish(
            claim,
            Outcome(
                ending=ending,
                seconds=seconds,
                reason=reason,
                physical_id=f"physical-{key}",
                reference_id=f"reference-{key}",
                token="token" if ending is Ending.WAITING else None,
                properties={"p": 1},
                node_data=data if ending is Ending.DONE else None,
                requires=[],
            ),
        )

    def run(self, order: CheckOrder) -> tuple[CheckOrder, ...]:
        """Claim and complete one node; return what became ready."""
        return self.finish(self.claim(order)).ready

    def run_all(self, orders: Iterable[CheckOrder]) -> None:
        """Complete nodes and all that they make ready, up to the last words."""
        waiting = list(orders)
        while waiting:
            order = waiting.pop()
            if order.phase == END:
                self.store.traversals.complete(order.traversal_id)
                ending = self.store.traversals.claim_end(order, worker="c")
                assert ending is not None
                self.store.traversals.finish_end(ending)
            elif order.phase == JOIN:
                waiting += self.store.nodes.release_join(order).ready
            else:
                waiting += self.run(order)

    def sweep(self) -> tuple[CheckOrder, ...]:
        """Sweep once."""
        return self.store.sweeper.sweep().orders


#: Each of the two databases, PostgreSQL also through a pooler, and each of the two codecs. Neither knows the other, so
#: not every pair is tried.
KINDS = ("sqlite-encrypted", "postgres", "pgbouncer")


class Ground:
    """A database with all tables, which one test after the other finds empty.

    Making one anew takes longer than what most tests do with it.
    """

    def __init__(self, url: str) -> None:
        migrations.upgrade(url)
        self.clock = FakeClock()
        self.database = Database(url, clock=self._now)

    def clear(self) -> None:
        """Leave nothing of a test behind: no row, no connection that it used, not its time."""
        self.database.dispose()
        with self.database.write() as connection:
            empty(connection)
            # The next event is number one again.
            restart = (
                "ALTER SEQUENCE event_id_seq RESTART"
                if self.database.postgres
                else "DELETE FROM sqlite_sequence"
            )
            connection.exec_driver_sql(restart)
        self.clock = FakeClock()

    def _now(self) -> float:
        return self.clock()


@pytest.fixture(scope="session")
def grounds(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Ground]:
    """Return the one ground of each kind of store, made when it is first asked for."""

    @cache
    def of(kind: str) -> Ground:
        if kind == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            return Ground(server.create_database("grounds"))
        if kind == "pgbouncer":
            pooler: PgBouncerServer = request.getfixturevalue("pgbouncer_server")
            return Ground(pooler.prepared(pooler.postgres.create_database("pooled_grounds")))
        return Ground(f"sqlite:///{tmp_path_factory.mktemp('grounds') / f'{kind}.db'}")

    return of


@pytest.fixture(params=KINDS)
def bench(request: pytest.FixtureRequest, grounds: Callable[[str], Ground]) -> Iterator[Bench]:
    """A bench on each kind of store in turn."""
    kind: str = request.param
    ground = grounds(kind)
    keys = [KEY] if "encrypted" in kind else []
    ground.database.seal_sentences(keys)
    store = Store(
        ground.database,
        codec=Codec(keys),
        timings=Timings(lease_seconds=60, redeliver_seconds=10, locked_seconds=5),
    )
    yield Bench(store, ground.clock)
    ground.clear()
    ground.database.seal_sentences(())
