"""Five agents on one machine: a stack is placed by its rules, runs, and outlives what happens to its nodes."""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
import sqlalchemy as sa

from cache.node_state.redis_store import RedisNodeStore
from cache.node_state.verdict import lease_in
from orchestrator.store import migrations
from tests import keys
from tests.allowing import everything
from tests.faults.installation import HASTE
from tests.services.engine import EngineProcess, running
from tests.waiting import PATIENCE_SECONDS, until
from tests.warm import start, warm_program

pytestmark = pytest.mark.slow

RACKS = {"n1": "r1", "n2": "r1", "n3": "r2", "n4": "r2", "n5": "r3"}
#: On a machine that is busy no living agent is taken for dead; a dead one's lease is taken away by :meth:`Fleet.kill`.
NODES = {"lease_seconds": PATIENCE_SECONDS, "heartbeat_seconds": 0.5, "rpc_timeout_seconds": 60}
#: Nobody else sleeps so long: how the instances of this test are told from whatever else runs.
SECONDS = str(86_400_000 + os.getpid())
INSTANCE: Mapping[str, Any] = {
    "type": "Isotherm::Node::Instance",
    "properties": {"command": ["sleep", SECONDS], "memory": 16},
}


class Fleet:
    """A coordinator, a worker and five agents, each with a place of its own on this machine."""

    def __init__(self, directory: Path, *, broker_url: str, database_url: str) -> None:
        self.directory = directory
        self.broker_url, self.database_url = broker_url, database_url
        values = {
            **HASTE,
            "broker_url": broker_url,
            "database_url": database_url,
            "node_state_cache": json.dumps(NODES),
            "log_level": "INFO",
        }
        others = keys.others()
        self.environment = others | {f"ISOTHERM_{name.upper()}": value for name, value in values.items()}
        self.engines: list[EngineProcess] = []
        self.agents: dict[str, EngineProcess] = {}

    def start(self, *words: str, place: str) -> "subprocess.Popen[str]":
        """Start a process of the installation, whose own files are in ``place``."""
        return start(words, directory=self.directory, environment=self._environment(place))

    def agent(self, node: str) -> "subprocess.Popen[str]":
        """Start a node's agent."""
        (self.directory / node / "files").mkdir(parents=True, exist_ok=True)
        return self.start("agent", "--node", node, "--label", f"rack={RACKS[node]}", place=node)

    def kill(self, node: str) -> None:
        """End a node's agent and none of what it started, and let its lease be over, as it is after a while."""
        self.agents[node].kill_alone()
        self.agents[node].wait()
        with closing(RedisNodeStore(self.broker_url, timeout_seconds=PATIENCE_SECONDS)) as store:
            lease = lease_in(store.look([node], entries=False)[0])
            assert lease is not None
            store.withdraw(node, lease.incarnation)

    def start_again(self, node: str) -> None:
        """Start a node's agent in a dead one's place, and return when it takes work."""
        engine = EngineProcess(self.agent(node))
        self.engines.append(engine)
        self.agents[node] = engine
        engine.wait_until_ready()

    def run(self, *words: str, code: int = 0) -> str:
        """Give a command, which must end with a code; return all that it writes."""
        done = subprocess.run(
            [str(warm_program()), *words],
            cwd=self.directory,
            env=self._environment("client"),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def write(self, name: str, resources: Mapping[str, Any]) -> str:
        """Write a template of these resources; return its file's name."""
        template = {"heat_template_version": "2021-04-16", "resources": resources}
        (self.directory / name).write_text(json.dumps(template))
        return name

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return what the database says."""
        url = sa.make_url(self.database_url)
        with psycopg.connect(
            host=url.host, port=url.port, user=url.username, dbname=url.database
        ) as connection:
            return connection.execute(sql.encode()).fetchall()

    def places(self) -> dict[str, str]:
        """Return the node of each resource that is on one."""
        there = "NOT (action = 'DELETE' AND status = 'COMPLETE')"
        return dict(self.rows(f"SELECT name, on_node FROM resource WHERE on_node IS NOT NULL AND {there}"))

    def _environment(self, place: str) -> dict[str, str]:
        own = self.directory / place
        return {**self.environment, **everything(own / "files"), "ISOTHERM_STATE_DIRECTORY": str(own)}


@pytest.fixture
def fleet(tmp_path: Path, redis_url: str, postgres_url: str) -> Iterator[Fleet]:
    """An installation that is at work."""
    migrations.upgrade(postgres_url)
    fleet = Fleet(tmp_path, broker_url=redis_url, database_url=postgres_url)
    kinds = [fleet.start(kind, place="engine") for kind in ("coordinator", "worker")]
    with running([*kinds, *map(fleet.agent, RACKS)]) as fleet.engines:
        fleet.agents = dict(zip(RACKS, fleet.engines[2:], strict=True))
        try:
            yield fleet
        finally:
            print("".join(engine.log for engine in fleet.engines))
            for pid in sleepers():
                with suppress(psutil.NoSuchProcess):
                    psutil.Process(pid).kill()


def sleepers() -> frozenset[int]:
    """Return the numbers of the instances' processes."""
    found = psutil.process_iter(["cmdline", "status"])
    return frozenset(
        process.pid
        for process in found
        if process.info["cmdline"] == ["sleep", SECONDS] and process.info["status"] != psutil.STATUS_ZOMBIE
    )


def instance(**properties: Any) -> dict[str, Any]:
    """Return the definition of an instance."""
    return {**INSTANCE, "properties": {**INSTANCE["properties"], **properties}}


def group(policy: str, **properties: Any) -> dict[str, Any]:
    """Return the definition of a placement group."""
    return {"type": "Isotherm::Placement::Group", "properties": {"policy": policy, **properties}}


def of_group(name: str, members: list[str]) -> dict[str, Any]:
    """Return instances that are members of a group."""
    return {member: instance(groups=[{"get_resource": name}]) for member in members}


TOGETHER, APART, SPREAD = ["t1", "t2"], [f"a{number}" for number in range(1, 6)], ["s1", "s2", "s3"]
STORING = [f"v{number}" for number in range(1, 7)]
PLAIN = [f"p{number}" for number in range(1, 5)]
RESOURCES: Mapping[str, Any] = {
    "together": group("same_host"),
    "apart": group("different_host"),
    "spread": group("spread_racks", racks=3),
    **of_group("together", TOGETHER),
    **of_group("apart", APART),
    **of_group("spread", SPREAD),
    **{f"disk_{name}": {"type": "Isotherm::Node::Volume", "properties": {"size": 1}} for name in STORING},
    **{name: instance(disks=[{"volume": {"get_resource": f"disk_{name}"}}]) for name in STORING},
    **{name: instance() for name in PLAIN},
}
INSTANCES = [*TOGETHER, *APART, *SPREAD, *STORING, *PLAIN]


def test_a_stack_of_twenty_instances_is_placed_and_outlives_a_drain_and_a_dead_agent(fleet: Fleet) -> None:
    assert len(INSTANCES) == 20
    fleet.run("stack", "create", "web", "-t", fleet.write("web.yaml", RESOURCES))
    running_first = sleepers()
    assert len(running_first) == len(INSTANCES)
    places = fleet.places()

    # Placed by the rules, and where the agents say.
    assert len({places[name] for name in TOGETHER}) == 1
    assert {places[name] for name in APART} == set(RACKS)
    assert {RACKS[places[name]] for name in SPREAD} == set(RACKS.values())
    assert all(places[name] == places[f"disk_{name}"] for name in STORING)
    listed = {
        node: json.loads(fleet.run("node", "instances", node, "-f", "json"))["instances"] for node in RACKS
    }
    of_each = Counter(places[name] for name in INSTANCES)
    assert {node: len(instances) for node, instances in listed.items()} == {
        node: of_each[node] for node in RACKS
    }

    # A drained node is refused, and passed by.
    fleet.run("node", "drain", "n3", "--reason", "new disks")
    fleet.write("there.yaml", {"one": instance(node="n3")})
    assert "new disks" in fleet.run("stack", "create", "there", "-t", "there.yaml", code=2)
    fleet.run(
        "stack",
        "create",
        "many",
        "-t",
        fleet.write("many.yaml", {f"m{each}": instance() for each in range(6)}),
    )
    assert "n3" not in {node for name, node in fleet.places().items() if name.startswith("m")}
    before = sleepers()
    assert before > running_first
    assert len(before) == len(INSTANCES) + 6

    # A node whose agent died is unreachable, which is no reason to make anything again.
    fleet.kill("n2")
    fleet.run("stack", "check", "web", "--no-wait")
    sql = "SELECT name FROM resource WHERE on_node = 'n2' AND status <> 'COMPLETE' AND reason LIKE '%n2%'"
    until(lambda: fleet.rows(sql))
    assert sleepers() == before
    more = {**RESOURCES, "late": instance(node="n2")}
    fleet.start_again("n2")
    fleet.run("stack", "watch", "web")
    assert fleet.run("stack", "list").count("CHECK_COMPLETE") == 1
    assert sleepers() == before

    # What its agent is to make when it dies is made once, when it is back.
    with fleet.engines[1].standing_still():
        fleet.run("stack", "update", "web", "-t", fleet.write("more.yaml", more), "--no-wait")
        until(lambda: fleet.rows("SELECT node FROM reservation WHERE resource = 'late' AND node = 'n2'"))
        fleet.kill("n2")
    until(lambda: fleet.rows("SELECT name FROM resource WHERE name = 'late' AND reason LIKE '%n2%'"))
    fleet.start_again("n2")
    fleet.run("stack", "watch", "web")
    assert len(sleepers() - before) == 1
    assert sleepers() > before

    fleet.run("stack", "delete", "web", "--yes")
    fleet.run("stack", "delete", "many", "--yes")
    assert sleepers() == frozenset()
    assert fleet.rows("SELECT * FROM reservation") == []
