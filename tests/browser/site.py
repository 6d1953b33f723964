"""An installation with a dashboard: real processes on one Redis and one PostgreSQL."""

import json
import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.views.stacks import StackView
from tests.faults.installation import PROCESSES as ALL_PROCESSES
from tests.faults.installation import Installation
from tests.services.engine import EngineProcess
from tests.services.process import HOST, free_port
from tests.waiting import until

#: Those of an installation that run here.
PROCESSES = tuple(name for name in ALL_PROCESSES if name != "w3")
#: Where a stack stands until the test lets it on.
GATE = "gate"
#: Who may act on stacks, and how he comes in.
OPERATOR = ("ann", "secret")
#: Where objects of test resources are said to be shown.
CONSOLE = "https://console.example.org/{project}/{stack}?object={physical_id}"


class Site(Installation):
    """A coordinator, workers and a dashboard. What a test ends, it starts again."""

    def __init__(self, directory: Path, *, broker_url: str, database_url: str) -> None:
        urls = {"broker_url": broker_url, "database_url": database_url}
        super().__init__(directory, **urls, console_links={"OS::Heat::TestResource": CONSOLE})
        self.port = free_port()
        self.dashboard: EngineProcess | None = None

    @property
    def url(self) -> str:
        """Where the dashboard is."""
        return f"http://{HOST}:{self.port}"

    def page(self, path: str) -> str:
        """Return the address of a page."""
        return f"{self.url}{path}"

    def start_dashboard(self) -> None:
        """Start the dashboard, always on the same port, and return when it answers."""
        name, password = OPERATOR
        rights = (f"--basic_auth={name}:{password}", "--stack_actions", f"--stack_operators={name}")
        command = self._command("dashboard", f"--port={self.port}", f"--address={HOST}", *rights)
        self.dashboard = EngineProcess(self.run(command))
        self.engines.append(self.dashboard)
        until(self.answers)

    def answers(self) -> bool:
        """Whether the dashboard takes questions; it answers them as soon as it can."""
        assert self.dashboard is not None
        assert self.dashboard.process.poll() is None, self.dashboard.log
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0

    @contextmanager
    def without_dashboard(self) -> Iterator[None]:
        """Kill the dashboard as a power cut would, and start it again afterwards."""
        assert self.dashboard is not None
        self.dashboard.kill()
        try:
            yield
        finally:
            self.start_dashboard()

    @contextmanager
    def without(self, name: str) -> Iterator[None]:
        """Kill one of the other processes, and start another in its place afterwards."""
        self.engine(name).kill()
        try:
            yield
        finally:
            self.start_another(name)
            # It is the one of this name from now on.
            place = list(PROCESSES).index(name)
            self.engines[place], self.engines[-1] = self.engines[-1], self.engines[place]

    # -- stacks ------------------------------------------------------------------------------------------------

    def begin(
        self, name: str, resources: Mapping[str, Mapping[str, Any]], *, held: Sequence[str] = ()
    ) -> StackView:
        """Begin a stack; resources that are ``held`` stand at a hook before they are made."""
        template = {"heat_template_version": "2021-04-16", "resources": resources}
        hooks = {resource: {"hooks": ["pre-create"]} for resource in held}
        environment = json.dumps({"resource_registry": {"resources": hooks}})
        sources = (EnvironmentSource(file="environment", source=environment),) if held else ()
        job = StackJob(name=name, template=json.dumps(template), environments=sources)
        return self.service.create(job)

    def gated(
        self, name: str, resources: Mapping[str, Mapping[str, Any]], *, held: Sequence[str] = ()
    ) -> StackView:
        """Begin a stack of which nothing is made until :meth:`let_on`; return when it stands there.

        Resources that are ``held`` stand at a hook before they are made, too.
        """
        behind = {
            key: {**each, "depends_on": each.get("depends_on", GATE)} for key, each in resources.items()
        }
        stack = self.begin(name, {GATE: nothing(), **behind}, held=(GATE, *held))
        next(progress for progress in self.service.watch(stack.id) if progress.hooks)
        return stack

    def let_on(self, stack: StackView) -> None:
        """Let a stack go on that was begun with a gate."""
        assert self.service.clear_hooks(stack.id, GATE)

    def made(self, name: str, resources: Mapping[str, Mapping[str, Any]]) -> StackView:
        """Return a stack once its creation is over, however that ended."""
        return self.ended(self.begin(name, resources).id)

    def ended(self, stack_id: str) -> StackView:
        """Return the stack when its operation is over; whoever waits leaves the processors to those who work."""
        return list(self.service.watch(stack_id))[-1].stack

    def until_done(self, stack_id: str, number: int) -> None:
        """Return as soon as so many of the stack's resources are done, which must not be all."""
        so_far = next(
            each
            for each in self.service.watch(stack_id, interval_seconds=0.05)
            if each.done >= number or each.finished
        )
        assert not so_far.finished, "all was over before the fault came"

    # -- what the store says -----------------------------------------------------------------------------------

    def states(self, stack: StackView) -> dict[str, int]:
        """Count a stack's resources by how far they are, by the rows alone."""
        query = (
            "SELECT state, count(*) FROM node JOIN stack ON stack.traversal_id = node.traversal_id "
            "WHERE stack.id = %s AND node.resource_id IS NOT NULL GROUP BY state"
        )
        return Counter(dict(self.rows(query, stack.id)))

    def event_ids(self, stack: StackView) -> list[int]:
        """Return the ids of all events of a stack."""
        return [row[0] for row in self.rows("SELECT id FROM event WHERE stack_id = %s ORDER BY id", stack.id)]


def nothing(**more: Any) -> dict[str, Any]:
    """Return a resource that takes no time."""
    return {"type": "OS::Heat::TestResource", **more}


def after(*names: str, **properties: Any) -> dict[str, Any]:
    """Return a resource that requires others."""
    return nothing(depends_on=list(names), properties=properties)


def layers(width: int, deep: int) -> dict[str, dict[str, Any]]:
    """Return resources in layers, each requiring two of the layer before; the first layer requires nothing."""
    resources = {}
    for layer in range(deep):
        for place in range(width):
            required = {f"r{layer - 1}-{place}", f"r{layer - 1}-{(place + 1) % width}"} if layer else set()
            given = {"depends_on": sorted(required)} if required else {}
            resources[f"r{layer}-{place}"] = nothing(**given)
    return resources


#: What fails in a stack, once all is done that it does not block; and what is never begun because of it.
ROOT = "address"
BLOCKED = ("server", "volume", "backup", "alarm")
BROKEN: Mapping[str, Mapping[str, Any]] = {
    "network": nothing(),
    "router": after("network"),
    "file": nothing(),
    ROOT: after("network", "router", "file", fail=True),
    "server": after(ROOT),
    "volume": after(ROOT),
    "backup": after("server", "volume"),
    "alarm": after("backup", "router"),
}
