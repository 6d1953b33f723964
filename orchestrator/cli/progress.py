"""Progress of an operation on stderr: live on a terminal, otherwise one line for each event."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from orchestrator.cli.events import event_line, events_after
from orchestrator.cli.formats import printable, terminal_for_messages
from orchestrator.config.ending import code_of

if TYPE_CHECKING:
    from orchestrator.cli.screen import Screen
    from orchestrator.service import Service
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
    command = f"isotherm stack hook clear {shlex.quote(stack.name)} {shlex.quote(held.resource)}"
    return printable(f"{held.resource} is held at {held.kind}; continue with: {command}")


@contextmanager
def display(service: "Service", stack_id: str) -> "Iterator[Lines | Screen]":
    """Return a context with the display of a stack that suits stderr; a live display is removed at its end."""
    console = terminal_for_messages()
    if console is None:
        yield Lines()
        return
    # What draws takes a while to import.
    from rich.live import Live

    from orchestrator.cli.looking import Looker
    from orchestrator.cli.screen import Screen

    screen = Screen(console, Looker(service.observer, stack_id))
    with Live(get_renderable=screen.__rich__, console=console, transient=True, refresh_per_second=8):
        yield screen


def follow(service: "Service", stack: "StackView", *, after: int) -> "StackView":
    """Show the progress of a stack's operation until it ends, and return the stack.

    Events up to the id ``after`` are not shown.
    """
    with display(service, stack.id) as shown:
        for progress in service.watch(stack.id):
            events = list(events_after(service, stack.id, after))
            after = events[-1].id if events else after
            shown.show(progress, events)
            stack = progress.stack
    return stack


@contextmanager
def resumable(name: str, *, embedded: bool) -> Iterator[None]:
    """Turn a signal that ends a command into a message with the command that continues; the stack is left as it is.

    Raises:
        Exit: with 128 and the number of the signal.
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        command = f"isotherm stack watch {name}"
        if embedded:
            click.echo(f"\nInterrupted: the stack stays as it is. Carry on with: {command}", err=True)
        else:
            click.echo(f"\nThe workers carry on without you. Follow them with: {command}", err=True)
        raise click.exceptions.Exit(code_of(interrupt)) from interrupt
