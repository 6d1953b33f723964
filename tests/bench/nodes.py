"""What it costs to know what a node is and what runs on it: remembered, asked for, and in one call instead of three.

Run as ``python -m tests.bench.nodes``, or by ``make bench``. An agent of its own process with a few hundred declared
instances, and Redis between; the stores of what nodes said by turns. Medians, and the best of the runs counts: whatever
else the machine does only adds to them.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import redis
from rich.console import Console

from cache.node_state.cache import NodeStateCache
from cache.node_state.file_store import FileNodeStore
from cache.node_state.memory_store import MemoryNodeStore
from cache.node_state.redis_store import RedisNodeStore
from cache.node_state.requests import HypervisorSection, MachineStateRequest, StorageSection
from cache.node_state.store import NodeStateStore
from orchestrator.config.settings import Settings, load_settings
from orchestrator.nodes.rpc.calls import fetch_machine_state
from orchestrator.nodes.rpc.kombu_transport import KombuTransport
from orchestrator.nodes.rpc.names import agent_directory
from tests.bench.installation import environment, isotherm, wait_until
from tests.keys import provided_keys
from tests.services.engine import running
from tests.services.servers import RedisServer
from workers.agent.hypervisors.fake import Fake, FakeOptions
from workers.agent.hypervisors.hypervisor import InstanceSpec

RESULT: Final = Path("build") / "bench-nodes.json"
NODE: Final = "bench1"
RUNS: Final = 3
#: How often something is done in a run: in this process, and on the node.
HERE, THERE = 300, 40
#: What a hit may take, with as many instances as there are by default.
HIT_MS: Final = 0.3
#: A process with one thread asks for nothing that takes so long.
SECONDS: Final = 10.0

HV: Final = HypervisorSection("fake")
DISK: Final = StorageSection("file", "default")
ALL: Final = MachineStateRequest(hypervisors=frozenset({HV}), storage=frozenset({DISK}), bootid=True)
#: What was asked for one by one.
PARTS: Final = (
    MachineStateRequest(hypervisors=frozenset({HV})),
    MachineStateRequest(storage=frozenset({DISK})),
    MachineStateRequest(bootid=True),
)

#: What is measured, by its name.
Cases = Mapping[str, Callable[[], object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What something takes."""

    #: hit, bootid hit, miss, force, one call or three calls.
    case: str
    #: Where what the node said is kept; empty: nowhere.
    store: str
    #: How many instances the node has.
    instances: int
    median_ms: float
    #: One of twenty takes longer.
    p95_ms: float
    #: How many messages the broker passed on for it.
    messages: int


class Bench:
    """A node and its agent, and who asks it."""

    def __init__(self, instances: int, directory: Path, server: RedisServer, stack: ExitStack) -> None:
        """Start the agent; ``stack`` ends it."""
        self._instances, self._server = instances, server
        values = {
            "ISOTHERM_BROKER_URL": server.url,
            "ISOTHERM_STATE_DIRECTORY": str(directory / "state"),
            "ISOTHERM_AGENT": json.dumps({"hypervisors": {"fake": {}}, "run_as": "root"}),
        }
        stack.enter_context(environment(values))
        settings = load_settings()
        _declare(settings, instances)
        agent = subprocess.Popen(
            isotherm("agent", "--node", NODE),
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        stack.enter_context(running([agent]))
        self._transport = KombuTransport(settings)
        stack.callback(self._transport.close)
        self._stores: Mapping[str, NodeStateStore] = {
            "memory": MemoryNodeStore(),
            "file": FileNodeStore(directory / "states"),
            "redis": RedisNodeStore(server.url_of(1)),
        }
        wait_until(lambda: bool(self._fetch(NODE, ALL, SECONDS).sections))

    def costs(self) -> Iterator[Cost]:
        """Yield what everything costs, once each."""
        yield from self._by_turns(
            "",
            THERE,
            {
                "one call": lambda: self._fetch(NODE, ALL, SECONDS),
                "three calls": lambda: [self._fetch(NODE, part, SECONDS) for part in PARTS],
            },
        )
        for name, store in self._stores.items():
            # Who is in this process, as far as the cache can tell, needs no lease in each store.
            cache = NodeStateCache(store, self._fetch, unleased={NODE})
            look = partial(cache.machine_state, NODE)
            asking: Cases = {"miss": partial(self._miss, cache), "force": partial(look, ALL, force=True)}
            yield from self._by_turns(name, THERE, asking)
            yield from self._by_turns(
                name, HERE, {"hit": partial(look, ALL), "bootid hit": partial(look, PARTS[2])}
            )
            counts = cache.counters
            if counts.asked != 2 * (THERE + 3) or counts.hits != 2 * (HERE + 3):
                raise SystemExit(f"not what was to be measured: {counts}")

    def _fetch(self, node: str, request: MachineStateRequest, seconds: float) -> Any:
        return fetch_machine_state(self._transport, node, request, seconds)

    @staticmethod
    def _miss(cache: NodeStateCache) -> None:
        cache.bump(NODE, "bench")
        cache.machine_state(NODE, ALL)

    def _by_turns(self, store: str, times: int, cases: Cases) -> list[Cost]:
        taken: dict[str, list[float]] = {case: [] for case in cases}
        messages = {case: self._messages_of(do) for case, do in cases.items()}
        for _ in range(times):
            for case, do in cases.items():
                started = time.perf_counter()
                do()
                taken[case].append(time.perf_counter() - started)
        return [
            Cost(
                case=case,
                store=store,
                instances=self._instances,
                median_ms=1000 * statistics.median(taken[case]),
                p95_ms=1000 * statistics.quantiles(taken[case], n=20)[-1],
                messages=messages[case],
            )
            for case in cases
        ]

    def _messages_of(self, do: Callable[[], object]) -> int:
        """Return how many messages the broker passes on for something that is done once.

        What those who listen say to themselves now and then is among them: hence the least of some tries.
        """
        counts = []
        with self._server.client() as client:
            for _ in range(3):
                before = _passed_on(client)
                do()
                counts.append(_passed_on(client) - before)
        return min(counts)


def _passed_on(client: redis.Redis) -> int:
    found: Mapping[str, Any] = client.info("commandstats")
    return int(found.get("cmdstat_publish", {}).get("calls", 0))


def _declare(settings: Settings, instances: int) -> None:
    directory = agent_directory(settings.state_directory, NODE) / "hypervisors" / "fake"
    fake = Fake(FakeOptions(memory_mib=1024 * instances, cpus=64), directory)
    for number in range(instances):
        fake.start(InstanceSpec(name=f"instance-{number:04}", memory_mib=512, vcpus=2))


def best(costs: Sequence[Cost], case: str, store: str = "") -> Cost:
    """Return the run of a case that took the least."""
    return min(
        (cost for cost in costs if (cost.case, cost.store) == (case, store)), key=lambda cost: cost.median_ms
    )


def ratios(costs: Sequence[Cost]) -> dict[str, float]:
    """Return what three calls take, as a multiple of what one takes."""
    one, three = best(costs, "one call"), best(costs, "three calls")
    return {"time": three.median_ms / one.median_ms, "messages": three.messages / one.messages}


def measure(instances: int, runs: int) -> Iterator[Cost]:
    """Yield what everything costs, in several runs."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isotherm-bench-")))
        server = stack.enter_context(RedisServer.start())
        bench = Bench(instances, directory, server, stack)
        for _ in range(runs):
            yield from bench.costs()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and keep the rows."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.nodes", description=__doc__)
    parser.add_argument("--instances", type=int, default=200, help="how many instances the node has")
    parser.add_argument("--runs", type=int, default=RUNS, help="how often each is measured")
    asked = parser.parse_args(arguments)
    say = partial(Console(highlight=False).print, soft_wrap=True)
    say(f"nodes: the machine state of a node with {asked.instances} instances")
    costs = list(measure(asked.instances, asked.runs))
    for case, store in dict.fromkeys((cost.case, cost.store) for cost in costs):
        cost = best(costs, case, store)
        say(
            f"{case:11} {store:6} {cost.median_ms:8.3f} ms, 95 % within {cost.p95_ms:.3f} ms, "
            f"{cost.messages} messages"
        )
    found = ratios(costs)
    say(
        f"three calls take {found['time']:.2f} times as long as one, and {found['messages']:.1f} times the messages"
    )
    slow = [store for store in ("memory", "file", "redis") if best(costs, "hit", store).median_ms >= HIT_MS]
    say(
        f"a hit takes {HIT_MS} ms or more in: {', '.join(slow)}"
        if slow
        else f"every hit takes less than {HIT_MS} ms"
    )
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(
        json.dumps({"costs": [asdict(cost) for cost in costs], "ratios": found}, indent=1) + "\n"
    )


if __name__ == "__main__":
    with provided_keys():
        main()
