"""What an instance of the ``process`` hypervisor is, from what is on record of its run."""

import signal

from workers.agent.commands.supervised import Status
from workers.agent.hypervisors.hypervisor import InstanceState


def state_of(
    status: Status | None, *, running: bool, run: str, resting: bool, still: bool
) -> tuple[InstanceState, str]:
    """Return what an instance is, and in words how that came, from what is on record of its run."""
    if status is None or status.run != run:
        return InstanceState.SHUTDOWN, "not started"
    if running:
        return (InstanceState.PAUSED, "stopped") if still else (InstanceState.RUNNING, "running")
    if status.error:
        return InstanceState.CRASHED, f"cannot be run: {status.error}"
    if status.exit_code is None:
        return (InstanceState.SHUTDOWN if resting else InstanceState.CRASHED), "ended unseen"
    said = f"exit code {status.exit_code}"
    if status.exit_code < 0:
        said = f"ended by {_name_of(-status.exit_code)}"
    return (InstanceState.SHUTDOWN if resting or status.exit_code == 0 else InstanceState.CRASHED), said


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        # Most of those for programs' own use have no name.
        return f"signal {number}"
