"""The watcher asks anew what is old, notes who is missing, and has checked what was on a machine that booted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from cache.node_state.errors import NodeOffline, NodeUnreachable, StateStoreFailed
from orchestrator import tasks
from orchestrator.config.nodes import AgentSettings
from orchestrator.config.settings import Settings
from orchestrator.errors import Conflict, NotFound, PluginMistake, Unavailable
from orchestrator.model.messages import CheckJob, StackJob
from orchestrator.nodes.presentation import node_view
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.nodes.statistics import NodeStatistics
from orchestrator.nodes.watcher import NodeWatcher
from orchestrator.placement.inventory import survey
from orchestrator.processes.embedded import Embedded
from orchestrator.store import tables
from orchestrator.store.store import Store
from orchestrator.views.nodes import UP
from tests.migrated import migrate
from tests.unit.orchestrator.fake_nodes import FakeNodes


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Watch:
    """A watcher whose coordinator begins checks, but for those that it refuses."""

    store: Store
    clock: Clock
    nodes: FakeNodes = field(default_factory=FakeNodes)
    jobs: list[CheckJob] = field(default_factory=list)
    refused: Mapping[str, Exception] = field(default_factory=dict)

    def pass_(self, seconds: float) -> None:
        self.clock.now += seconds
        self.nodes.now += seconds

    def check(self, job: CheckJob) -> None:
        if job.name in self.refused:
            raise self.refused[job.name]
        self.jobs.append(job)

    def look(self) -> None:
        tally = NodeStatistics(lambda: self.nodes.cache, self.store.node_counters)
        NodeWatcher(
            self.store, self.nodes, self.check, tally, every_seconds=300, refresh_after_seconds=200
        ).look()

    def put_stack(self, name: str, *, node: str, status: str = "COMPLETE") -> None:
        times = {"created_at": 1.0, "updated_at": 1.0}
        stack = {
            "id": name,
            "name": name,
            "project": "p",
            "root_id": name,
            "template_id": "t",
            "action": "UPDATE",
            "status": status,
            "traversal_id": "t1",
            "timeout_minutes": 1.0,
        }
        row = {
            "id": f"{name}-it",
            "stack_id": name,
            "name": "it",
            "type": "T",
            "on_node": node,
            "template_id": "t",
        }
        with self.store.database.write() as connection:
            connection.execute(tables.stack.insert().values({**stack, **times}))
            connection.execute(tables.resource.insert().values({**row, **times}))


@pytest.fixture
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    settings = Settings(state_directory=tmp_path_factory.mktemp("watch"))
    migrate(settings.effective_database_url)
    clock = Clock()
    store = Store(settings.effective_database_url, clock=clock)
    yield Watch(store, clock)
    store.close()


def type_name(error: Exception) -> str:
    return type(error).__name__


def bumps(watch: Watch) -> int:
    return watch.nodes.cache.counters.bumps.get("boot", 0)


def test_a_node_is_asked_by_whoever_looks_first_and_not_before_it_is_due(watch: Watch) -> None:
    watch.nodes.add("n1")
    watch.nodes.add("n2")
    watch.look()
    watch.look()
    assert sorted(watch.nodes.asked) == ["n1", "n2"]
    watch.pass_(300)
    watch.look()
    assert sorted(watch.nodes.asked) == ["n1", "n1", "n2", "n2"]


def test_what_others_asked_a_moment_ago_is_not_asked_again(watch: Watch) -> None:
    watch.nodes.add("n1")
    watch.look()
    watch.pass_(150)
    watch.nodes.cache.machine_state("n1", force=True)
    watch.pass_(150)
    watch.look()
    assert watch.nodes.asked == ["n1", "n1"]
    watch.pass_(300)
    watch.look()
    assert watch.nodes.asked == ["n1", "n1", "n1"]
    assert watch.store.node_counters.read().amounts["misses:aged"] == 1


def test_what_is_missing_is_told_and_not_asked(watch: Watch) -> None:
    watch.nodes.add("n1")
    watch.nodes.add("mute")
    watch.look()
    watch.pass_(350)
    watch.nodes.remove("n1")
    watch.nodes.mute.add("mute")
    watch.nodes.asked.clear()
    with capture_logs() as logs:
        watch.look()
    told = [(each["event"], each["node"], each["log_level"]) for each in logs]
    assert told == [
        ("a node has no agent", "n1", "warning"),
        ("the state of a node cannot be read", "mute", "warning"),
    ]
    assert (logs[0]["missing_seconds"], watch.nodes.asked) == (350, ["mute"])


def test_missing_since_the_last_heartbeat_and_not_since_a_coordinator_looked(watch: Watch) -> None:
    watch.nodes.add("n1")
    watch.look()
    watch.pass_(200)
    watch.nodes.cache.renew(watch.nodes.held["n1"])
    watch.pass_(150)
    watch.nodes.remove("n1")
    with capture_logs() as logs:
        watch.look()
    assert [each["missing_seconds"] for each in logs] == [150]
    # Wherever it is shown.
    row, leases = watch.store.machines.find("n1"), watch.nodes.leases()
    assert row is not None
    unreachable = NodeUnreachable("n1", "away")
    view = node_view(row, leases, unreachable, {}, booted=False)
    assert (view.reason, view.seen_seconds) == ("its agent was last there 150 s ago", 150.0)
    assert view.seen_at == row.now - 150.0
    surveyed = survey(cast("Any", watch.nodes), [row], measured=False, max_age_seconds=0)
    assert surveyed["n1"].closed == "its agent is not there; it was last heard of 150 s ago"


def test_wrong_clock_is_shown_and_a_slight_difference_is_not(watch: Watch) -> None:
    reasons = {}
    for ahead in (None, -4.0, 4.0, 180.0, -180.0):
        watch.nodes.add("n1", clock_ahead_seconds=ahead)
        watch.look()
        row = watch.store.machines.find("n1")
        assert row is not None
        view = node_view(row, watch.nodes.leases(), watch.nodes.said["n1"], {}, booted=False)
        assert (view.state, view.clock_ahead_seconds) == (UP, ahead)
        reasons[ahead] = view.reason
    assert reasons == {
        None: "",
        -4.0: "",
        4.0: "",
        180.0: "its clock is 180 s ahead",
        -180.0: "its clock is 180 s behind",
    }


def test_of_one_that_is_drained_it_is_no_warning(watch: Watch) -> None:
    watch.nodes.add("n1")
    watch.look()
    watch.store.machines.drain("n1", "sold")
    watch.nodes.remove("n1")
    watch.pass_(300)
    with capture_logs() as logs:
        watch.look()
    assert [each["log_level"] for each in logs] == ["info"]


def test_after_a_boot_what_was_on_the_node_is_checked_once(watch: Watch) -> None:
    watch.nodes.add("n1")
    watch.put_stack("web", node="n1")
    watch.put_stack("shop", node="n2")
    watch.look()
    assert (watch.jobs, bumps(watch)) == ([], 0)
    watch.nodes.add("n1", boot_id="boot-2")
    watch.pass_(300)
    watch.look()
    assert bumps(watch) == 1
    [job] = watch.jobs
    assert (job.action, job.name, job.project) == ("CHECK", "web", "p")
    watch.pass_(300)
    watch.look()
    assert len(watch.jobs) == 1


def test_a_stack_that_is_busy_is_checked_later_and_the_others_are_not_checked_twice(watch: Watch) -> None:
    watch.nodes.add("n1")
    watch.put_stack("busy", node="n1", status="IN_PROGRESS")
    watch.put_stack("web", node="n1")
    watch.look()
    watch.nodes.add("n1", boot_id="boot-2")
    watch.refused = {"busy": Conflict("stack 'busy' is UPDATE_IN_PROGRESS")}
    for _ in range(2):
        watch.pass_(300)
        watch.look()
    # The same job twice is one check.
    assert {job.name for job in watch.jobs} == {"web"}
    assert len({job.job_id for job in watch.jobs}) == 1
    watch.refused = {}
    watch.pass_(300)
    watch.look()
    assert watch.jobs[-2].name == "busy"
    watch.jobs.clear()
    watch.pass_(300)
    watch.look()
    assert watch.jobs == []


@pytest.mark.parametrize(
    "error",
    [Conflict("it is suspended"), NotFound("it is gone"), PluginMistake("a type is gone")],
    ids=type_name,
)
def test_a_stack_that_can_never_be_checked_is_not_tried_for_ever(watch: Watch, error: Exception) -> None:
    watch.nodes.add("n1")
    watch.put_stack("web", node="n1")
    watch.look()
    watch.nodes.add("n1", boot_id="boot-2")
    watch.refused = {"web": error}
    watch.pass_(300)
    watch.look()
    [row] = watch.store.machines.all()
    assert row.boot_id == "boot-2"


def test_where_the_database_goes_away_meanwhile_the_boot_is_seen_to_later(watch: Watch) -> None:
    watch.nodes.add("n1")
    watch.put_stack("web", node="n1")
    watch.look()
    watch.nodes.add("n1", boot_id="boot-2")
    watch.refused = {"web": Unavailable("the database does not answer")}
    watch.pass_(300)
    with pytest.raises(Unavailable):
        watch.look()
    watch.refused = {}
    watch.pass_(300)
    watch.look()
    assert [job.name for job in watch.jobs] == ["web"]


def test_another_boot_is_another_check(watch: Watch) -> None:
    watch.nodes.add("n1")
    watch.put_stack("web", node="n1")
    watch.look()
    for boot in ("boot-2", "boot-3"):
        watch.nodes.add("n1", boot_id=boot)
        watch.pass_(300)
        watch.look()
    assert len({job.job_id for job in watch.jobs}) == 2


def test_who_is_drained_is_said_again_where_it_was_lost_and_taken_back_where_it_was_not(watch: Watch) -> None:
    watch.nodes.add("n1")
    watch.nodes.add("n2")
    watch.look()
    watch.store.machines.drain("n1", "new disks")
    watch.nodes.cache.set_offline("n2", "said by an undrain that came too soon")
    watch.pass_(300)
    watch.nodes.asked.clear()
    watch.look()
    assert watch.nodes.asked == ["n2"]
    with pytest.raises(NodeOffline, match="new disks"):
        watch.nodes.cache.machine_state("n1")


@dataclass
class Machine:
    """An installation whose one node is this process's own, with a boot id of the test's."""

    embedded: Embedded
    boot_id_file: Path

    def boot(self, boot_id: str) -> None:
        self.boot_id_file.write_text(boot_id)
        NodeClient.of(self.embedded.runtime.settings).close()

    def look(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Look as a coordinator's task does; each machine is due."""
        with self.embedded.runtime.store.database.write() as connection:
            connection.execute(tables.machine.update().values(watched_at=0))
        self.embedded.runtime.__dict__.pop("node_watcher", None)
        monkeypatch.setattr(tasks, "runtime", lambda: self.embedded.runtime)
        tasks.watch_nodes()

    def actions(self) -> list[str]:
        with self.embedded.runtime.store.database.read() as connection:
            traversal = tables.traversal
            return list(
                connection.execute(sa.select(traversal.c.action).order_by(traversal.c.created_at)).scalars()
            )


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    boot_id_file = tmp_path / "boot_id"
    boot_id_file.write_text("boot-1")
    settings = Settings(state_directory=tmp_path, agent=AgentSettings(boot_id_file=str(boot_id_file)))
    migrate(settings.effective_database_url)
    embedded = Embedded(settings)
    yield Machine(embedded, boot_id_file)
    NodeClient.of(settings).close()
    embedded.close()


def test_a_coordinator_begins_one_check_for_each_boot(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, coordinator = machine.embedded.runtime.store, machine.embedded.runtime.coordinator
    template = "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::TestResource}}"
    stack_id = coordinator.create(StackJob(name="web", template=template))
    machine.look(monkeypatch)
    with store.database.write() as connection:
        connection.execute(tables.resource.update().values(on_node="local"))
        # As if it had been made.
        connection.execute(tables.stack.update().values(status="COMPLETE"))
    machine.boot("boot-2")
    machine.look(monkeypatch)
    assert machine.actions() == ["CREATE", "CHECK"]
    now = store.stacks.find(stack_id, project="default")
    assert (now.action, now.status) == ("CHECK", "IN_PROGRESS")
    with store.database.write() as connection:
        connection.execute(tables.stack.update().values(status="COMPLETE"))
        # As if the one that looked had died before it was done.
        connection.execute(tables.machine.update().values(boot_id="boot-1"))
    machine.look(monkeypatch)
    assert machine.actions() == ["CREATE", "CHECK"]
    machine.boot("boot-3")
    machine.look(monkeypatch)
    assert machine.actions() == ["CREATE", "CHECK", "CHECK"]


def test_nodes_are_looked_after_later_where_their_leases_are_out_of_reach(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: NodeClient) -> None:
        raise StateStoreFailed("redis does not answer")

    monkeypatch.setattr(NodeClient, "leases", away)
    with capture_logs() as logs:
        machine.look(monkeypatch)
    assert [(each["event"], each["reason"]) for each in logs] == [
        ("nodes are looked after later", "redis does not answer")
    ]
    assert machine.embedded.runtime.store.machines.all() == []
