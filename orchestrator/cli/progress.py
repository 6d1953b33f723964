"""Progress of an operation on stderr: live on a terminal, otherwise one line for each event."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from orchestrator.cli.events import events_after
from orchestrator.cli.formats import terminal_for_messages
from orchestrator.cli.lines import Lines
from orchestrator.config.ending import code_of

if TYPE_CHECKING:
    from orchestrator.cli.screen import Screen
    from orchestrator.service import Service
    from orchestrator.views.stacks import StackView


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
