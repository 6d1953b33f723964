"""Standstills: why nothing works on an operation in progress, by the engine's processes and the broker."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.model.messages import CHECKS_QUEUE, STACKS_QUEUE
from orchestrator.views.operations import ProcessView
from orchestrator.views.stacks import View

_PRESENT: Final = "present"
_EMBEDDED: Final = "embedded"
_NEVER: Final = "for a day or longer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill(View):
    """What an operation lacks to go on: a sentence of three parts, ``{lack} since {since}: {remedy} {command}``."""

    lack: str
    #: By the database's clock; None if it is longer ago than processes are remembered, which ``lack`` then says.
    since: float | None
    remedy: str
    command: str


def standstill_of(
    processes: Iterable[ProcessView], stack: str, *, embedded: bool, broker_away_since: float | None = None
) -> Standstill | None:
    """Return why nothing works on a stack's operation in progress; None if something does.

    ``processes`` are those of the installation, ``broker_away_since`` is since when the broker has not been reached.
    """
    known = tuple(processes)
    if embedded:
        commands = [each for each in known if each.kind == _EMBEDDED or each.works_on]
        return _without(commands, "process", "carry it on with", f"isotherm stack watch {stack}")
    if broker_away_since is not None:
        return Standstill(
            lack="The broker has not been reached",
            since=broker_away_since,
            remedy="start it again, or find out more with",
            command="isotherm doctor",
        )
    workers = [
        each for each in known if each.kind == "worker" or CHECKS_QUEUE in each.queues or each.works_on
    ]
    coordinators = [each for each in known if each.kind == "coordinator" or STACKS_QUEUE in each.queues]
    return _without(workers, "worker", "start one with", "isotherm worker") or _without(
        coordinators, "coordinator", "start one with", "isotherm coordinator"
    )


def _without(processes: Sequence[ProcessView], kind: str, remedy: str, command: str) -> Standstill | None:
    if any(each.state == _PRESENT for each in processes):
        return None
    since = max((each.seen_at for each in processes), default=None)
    lack = f"No {kind} has been seen"
    return Standstill(
        lack=lack if since is not None else f"{lack} {_NEVER}", since=since, remedy=remedy, command=command
    )
