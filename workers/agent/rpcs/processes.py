"""RPCs about resources' processes: read, start, signal, kill, delete; and readiness probes."""

import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import psutil

from orchestrator.nodes.rpc.registry import Effect, node_rpc
from orchestrator.plugins.steps import ResourceFailure
from workers.agent.agent import Agent
from workers.agent.commands.environment import environment
from workers.agent.commands.readiness import Probe
from workers.agent.commands.recovery import agent_mark
from workers.agent.commands.supervised import Status, SupervisedProcess, tail
from workers.agent.files.allowed import allowed_directory
from workers.agent.owners import INSTANCE, PROCESS
from workers.agent.records import records_directory

#: The number of its last lines of output that are returned.
_LINES_SHOWN: Final = 10


def supervised(agent: Agent, uuid: str) -> SupervisedProcess:
    """Return the process on record under a row.

    Raises:
        RpcRefused: the uuid is invalid.
    """
    records = records_directory(agent.settings.state_directory)
    return SupervisedProcess(records, uuid=agent.limits.owner(uuid))


def _status(status: Status | None) -> Mapping[str, Any] | None:
    names = ("run", "pid", "started_at", "exit_code", "error", "running")
    return None if status is None else {name: getattr(status, name) for name in names}


@node_rpc("process_look", effect=Effect.READ)
def process_look(
    agent: Agent,
    *,
    uuid: str,
    probe: Mapping[str, Any] | None = None,
    members: bool = False,
    cwd: str | None = None,
) -> Mapping[str, Any]:
    """Return the state of a process.

    Returns:
        ``log``; of the last started run ``status`` (None: none was), of the last order
        ``order``; ``fault``, the probe's result; ``printed``, the last lines of a run that ended; with ``members``
        whether it is ``gone``, ``still`` (stopped) or ``moves``; ``cwd``, the real path of that directory.
    """
    process = supervised(agent, uuid)
    agent.owners.refuse_other_projects(PROCESS, uuid)
    # Without its records, which may be lost, it is there all the same.
    status, fault = process.seen(), ""
    if probe is not None and status is not None and status.running:
        wanted = Probe.from_wire(probe)
        fault = wanted.fault(agent.limits.reach(wanted, process.members))
        # Another process may have answered while this one ended.
        status = process.status() or status
    order = process.order()
    seen: dict[str, Any] = {
        "log": str(process.log),
        "status": _status(status),
        "order": None if order is None else {name: order[name] for name in ("run", "argv", "cwd")},
        "fault": fault,
        "printed": tail(process.log, lines=_LINES_SHOWN),
    }
    if members:
        seen |= {"gone": process.gone(), "still": process.stands_still(), "moves": process.is_moving()}
    if cwd is not None:
        seen["cwd"] = str(allowed_directory(cwd, agent.limits.allowance))
    return seen


@node_rpc("process_start")
def process_start(
    agent: Agent,
    *,
    uuid: str,
    run: str,
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    probe: Mapping[str, Any],
) -> Mapping[str, Any] | None:
    """Start a run of a process, at most once, and return its status; None: an earlier run is still there.

    ``env`` is added to a few variables of the agent; it is not recorded.

    Raises:
        Gone: it was removed for good.
        RpcRefused: the machine's limits forbid it.
        NotOurs: it belongs to another resource.
    """
    process = supervised(agent, uuid)
    with agent.alone_with(PROCESS, uuid):
        agent.refuse_gone(PROCESS, uuid)
        agent.owners.claim(PROCESS, uuid)
        # Also one whose record is lost: its start may have been this very run.
        status = process.find()
        if status is None or status.run != run:
            place = allowed_directory(cwd, agent.limits.allowance, makes=True)
            account, ready = agent.limits.account(), Probe.from_wire(probe)
            whole = environment({**(account.environment if account else {}), **env})
            program = agent.limits.command(argv, env=whole, cwd=place)
            reach = agent.limits.reach(ready, process.members)
            # Where it reaches the process's own ports alone, no other server's answers can be taken for its own.
            if (reach is None or reach.is_listed(ready.host, ready.port)) and ready.occupied():
                # The other server's answers would be taken for the process's, which cannot even bind the port.
                raise ResourceFailure(
                    f"{ready.host}:{ready.port} answers before the process was started: "
                    "something else has this port"
                )
            marked = {**whole, **agent_mark(agent.scope)}
            process.start(
                run,
                argv=argv,
                cwd=place,
                env=marked,
                now=time.time(),
                account=account,
                program=program,
                confined=agent.limits.confines,
            )
            status = process.status()
    return _status(status) if status is not None and status.run == run else None


@node_rpc("process_find")
def process_find(agent: Agent, *, uuid: str) -> Mapping[str, Any] | None:
    """Return and record the run that an interrupted start has begun, even if only its process is found."""
    with agent.alone_with(PROCESS, uuid):
        agent.owners.refuse_others(PROCESS, uuid)
        return _status(supervised(agent, uuid).find())


@node_rpc("process_signal")
def process_signal(agent: Agent, *, uuid: str, number: int, go_on: bool = False) -> None:
    """Send a signal to all processes of a command; ``go_on``: also continue stopped ones, so that they react."""
    process = supervised(agent, uuid)
    with agent.alone_with(PROCESS, uuid):
        agent.owners.claim(PROCESS, uuid)
        (process.ask_to_end if go_on else process.stop)(signal.Signals(number))


@node_rpc("process_kill")
def process_kill(agent: Agent, *, uuid: str) -> None:
    """Kill all processes of a command."""
    with agent.alone_with(PROCESS, uuid):
        agent.owners.claim(PROCESS, uuid)
        supervised(agent, uuid).kill()


@node_rpc("process_forget")
def process_forget(agent: Agent, *, uuid: str) -> None:
    """Remove for good the records of a process that has ended, and its output."""
    process = supervised(agent, uuid)
    with agent.alone_with(PROCESS, uuid):
        agent.owners.refuse_others(PROCESS, uuid)
        agent.journal.bury(PROCESS, uuid)
        process.forget()
        agent.owners.release(PROCESS, uuid)


@node_rpc("ready_look", effect=Effect.READ)
def ready_look(agent: Agent, *, probe: Mapping[str, Any], hypervisor: str = "", name: str = "") -> str:
    """Probe once, for two seconds at most, whether an instance is ready; return what is missing.

    Raises:
        RpcRefused: the machine's limits forbid it.
        NotOurs: the instance belongs to another project.
    """

    def own() -> Sequence[psutil.Process]:
        if not name:
            return ()
        return agent.ask(agent.hypervisors, hypervisor, lambda backend: backend.processes_of(name))

    wanted = Probe.from_wire(probe)
    agent.owners.refuse_other_projects(INSTANCE, name)
    return wanted.fault(agent.limits.reach(wanted, own))
