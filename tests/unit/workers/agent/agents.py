"""Agents for tests: with fake hypervisors, and with a cache that writes down what it is told."""

import itertools
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cache.node_state.counts import NodeStateCounts
from orchestrator.config.nodes import AgentSettings
from orchestrator.config.settings import Settings
from orchestrator.nodes.rpc.errors import FAULTS
from orchestrator.nodes.rpc.messages import Reply, Request
from orchestrator.nodes.rpc.registry import NodeRpc
from workers.agent.agent import Agent

_numbers = itertools.count(1)


class ToldCache:
    """Writes down what an agent says is void, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.counters = NodeStateCounts()

    @contextmanager
    def mutating(
        self,
        node: str,
        operation_id: str,
        *,
        rpc: str = "change",
        affects: Collection[str] = (),
        flush: bool = False,
        deferred: bool = False,
    ) -> Iterator[None]:
        what = ", ".join([node, *sorted(affects), *(["all"] if flush else [])])
        self.told.append(f"begin {what}")
        try:
            yield
        finally:
            self.told.append(f"end {what}{'; deferred' if deferred else ''}")

    def settle(self, node: str, operation_id: str) -> None:
        self.told.append(f"settle {node}")


def settings_of(directory: Path, **agent: Any) -> Settings:
    """Return the settings of a node whose allowed directory is ``files``, with a fake hypervisor of 1000 MiB."""
    files, boot_id = directory / "files", directory / "boot_id"
    files.mkdir(exist_ok=True)
    if not boot_id.exists():
        boot_id.write_text("boot-1\n")
    given = {
        "hypervisors": {"fake": {"memory_mib": 1000, "cpus": 4}},
        "boot_id_file": str(boot_id),
        "backend_seconds": 30,
        **agent,
    }
    return Settings(
        state_directory=directory / "state", node_directories=(files,), agent=AgentSettings(**given)
    )


def agent_of(
    directory: Path,
    cache: Any = None,
    *,
    name: str = "n1",
    shared: bool = False,
    rpcs: Mapping[str, NodeRpc] | None = None,
    **agent: Any,
) -> Agent:
    """Return an agent whose own directory is in ``directory``; called again for the same, it is started anew."""
    return Agent(
        name,
        settings_of(directory, **agent),
        cache if cache is not None else ToldCache(),
        directory=directory / name,
        shared=shared,
        rpcs=rpcs,
    )


def request_of(rpc: str, operation_id: str = "", /, *, node: str = "n1", **arguments: Any) -> Request:
    """Return a request that nobody has sent before."""
    number = next(_numbers)
    return Request(
        id=f"request-{number}",
        node=node,
        rpc=rpc,
        arguments=arguments,
        operation_id=operation_id or f"operation-{number}",
        deadline=time.time() + 60,
    )


def told(reply: Reply) -> Any:
    """Return what a reply says, or raise what it says went wrong."""
    if reply.error is not None:
        raise FAULTS[reply.error.kind](reply.node, reply.error.message)
    return reply.result


def change(agent: Agent, rpc: str, **arguments: Any) -> Any:
    """Have an agent carry something out."""
    return told(agent.carry_out(request_of(rpc, node=agent.name, **arguments)))


def ask(agent: Agent, rpc: str, **arguments: Any) -> Any:
    """Have an agent answer something."""
    return told(agent.answer(request_of(rpc, node=agent.name, **arguments)))


def spec(name: str = "web", **given: Any) -> Mapping[str, Any]:
    """Return what an instance is to be, as it travels."""
    return {"name": name, "memory_mib": 100, **given}
