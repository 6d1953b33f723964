"""The state of an instance of the ``process`` hypervisor, derived from the record of its run."""

import signal

from workers.agent.commands.supervised import Status
from workers.agent.hypervisors.hypervisor import InstanceState


def state_of(
    status: Status | None, *, running: bool, run: str, resting: bool, still: bool
) -> tuple[InstanceState, str]:
    """Return the state of an instance and its cause, from the record of its run."""
    if status is None or status.run != run:
        return InstanceState.SHUTDOWN, "not started"
    if running:
        return (InstanceState.PAUSED, "stopped") if still else (InstanceState.RUNNING, "running")
    if status.error:
        return InstanceState.CRASHED, f"cannot be run: {status.error}"
    if status.exit_code is None:
        return (InstanceState.SHUTDOWN if resting else InstanceState.CRASHED), "ended unseen"
    cause = f"exit code {status.exit_code}"
    if status.exit_code < 0:
        cause = f"ended by {_name_of(-status.exit_code)}"
    return (InstanceState.SHUTDOWN if resting or status.exit_code == 0 else InstanceState.CRASHED), cause


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        # Most real-time signals have no name.
        return f"signal {number}"
