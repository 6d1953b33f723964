"""RPCs about the machine itself."""

import subprocess
import threading
from collections.abc import Mapping
from contextvars import copy_context
from importlib.metadata import version
from typing import Any, Final

from cache.node_state.requests import SCHEMA_VERSION, MachineStateRequest
from orchestrator.config.logger import get_logger
from orchestrator.nodes.rpc.errors import NotSupported
from orchestrator.nodes.rpc.registry import FAST, URGENT, Effect, node_rpc
from workers.agent.agent import Agent
from workers.agent.answering import Afterwards
from workers.agent.fence import Fenced, check_fence

log = get_logger()

#: The delay of the reboot: the reply is sent, and its record written, before the machine goes down.
_POWERCYCLE_DELAY_SECONDS: Final = 5.0
#: The limit of ``wait_seconds``.
_MOST_WAIT_SECONDS: Final = 60.0


@node_rpc("node_snapshot", effect=Effect.READ, timeout_seconds=URGENT)
def node_snapshot(agent: Agent, *, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections that a request names: ``{"sections": {key: section}, "unsettled": whether}``."""
    return agent.machine_state(MachineStateRequest.from_wire(request))


@node_rpc("operation", effect=Effect.READ, timeout_seconds=URGENT)
def operation(
    agent: Agent, *, operation_id: str, wait_seconds: float = 0.0, request_id: str = ""
) -> dict[str, Any]:
    """Return the state of a mutation, as soon as it is over or the time is up; see :class:`Operation`.

    With ``request_id``, failures recorded before this request came are ignored: it is unknown until then.
    """
    seconds = min(wait_seconds, _MOST_WAIT_SECONDS)
    return agent.journal.wait(operation_id, seconds, request_id=request_id).to_wire()


@node_rpc("node_version", effect=Effect.READ, timeout_seconds=URGENT)
def node_version(agent: Agent) -> dict[str, Any]:
    """Return the versions of the program and of its replies, and its counters of invalidations."""
    counts = agent.cache.counters
    return {
        "version": version("isotherm"),
        "schema": SCHEMA_VERSION,
        "node": agent.name,
        "bumps": dict(counts.bumps),
        "flushes": dict(counts.flushes),
    }


@node_rpc("object_take_over")
def object_take_over(agent: Agent, *, kind: str, name: str) -> None:
    """Make an object, which no stack has any more, belong to the requester; see :mod:`workers.agent.owners`.

    Raises:
        NotOurs: it belongs to another project.
    """
    with agent.alone_with(kind, name):
        agent.owners.take_over(kind, name)


@node_rpc("node_powercycle", timeout_seconds=FAST, deferred=True)
def node_powercycle(agent: Agent) -> Afterwards:
    """Reboot the machine some seconds after the reply, by the command that its operator has set.

    Raises:
        NotSupported: the operator has set no command.
    """
    command = list(agent.settings.agent.powercycle_command)
    if not command:
        raise NotSupported(
            agent.name,
            f"node {agent.name!r} is not to be started anew from afar (setting agent.powercycle_command is empty)",
        )

    def reboot() -> None:
        try:
            check_fence()
        except Fenced as error:
            log.warning("the machine is not booted", reason=str(error))
            return
        subprocess.Popen(command)  # noqa: S603  # the operator's own

    def go() -> None:
        # The fence is that of this change: the agent may stand still in between, and its successor act.
        timer = threading.Timer(_POWERCYCLE_DELAY_SECONDS, copy_context().run, [reboot])
        timer.daemon = True
        timer.start()

    return Afterwards({"delay_seconds": _POWERCYCLE_DELAY_SECONDS}, go)
