"""Progress of an operation in lines, for logs and pipes; and the sentences on what resources wait for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from orchestrator.cli.events import event_line
from orchestrator.cli.formats import printable

if TYPE_CHECKING:
    from orchestrator.views.stacks import EventView, HookView, Progress, StackView


class Lines:
    """Display for logs and pipes: a line for each event, each resource held at a hook, and each reason for waiting."""

    def __init__(self) -> None:
        self._shown: frozenset[HookView] = frozenset()
        self._reasons: set[tuple[str, str]] = set()

    def show(self, progress: "Progress", events: list["EventView"]) -> None:
        """Write the new events, newly held resources and new reasons for waiting."""
        if events:
            # One write: each takes a while, and a stack may have thousands of events at a time.
            click.echo("\n".join(map(event_line, events)), err=True)
        held = frozenset(progress.hooks)
        for each in sorted(held - self._shown, key=lambda each: (each.since, each.resource)):
            click.echo(clear_line(progress.stack, each), err=True)
        self._shown = held
        fresh = dict(progress.reasons.items() - self._reasons)
        for line in in_lines(fresh):
            click.echo(line, err=True)
        self._reasons |= fresh.items()


def in_lines(reasons: Mapping[str, str]) -> list[str]:
    """Return a line for each reason for waiting, with the names of the resources that have it."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in sorted(reasons.items()):
        by_reason.setdefault(reason, []).append(name)
    return [
        printable(f"{', '.join(names)}: {' '.join(reason.split())}") for reason, names in by_reason.items()
    ]


def clear_line(stack: "StackView", held: "HookView") -> str:
    """Return a line that names the hook at which a resource is held, and the command that clears it."""
    # Few stacks have hooks.
    import shlex

    command = f"isotherm stack hook clear {shlex.quote(stack.name)} {shlex.quote(held.resource)}"
    return printable(f"{held.resource} is held at {held.kind}; continue with: {command}")
