"""Progress of an operation on stderr: live on a terminal, otherwise one line for each event."""

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from orchestrator.cli.events import event_line, events_after
from orchestrator.cli.formats import console_for_messages, printable, state_style
from orchestrator.cli.live_tree import Branch, branches, drawn
from orchestrator.cli.looking import Look, Looker
from orchestrator.cli.state_marks import MARKS, has_signs
from orchestrator.cli.times import duration
from orchestrator.config.ending import code_of
from orchestrator.views.operations import DONE, UNCHANGED

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from orchestrator.service import Service
    from orchestrator.views.stacks import EventView, HookView, Progress, StackView

#: The greatest number of resources held at hooks that a terminal shows.
MOST_HELD = 3
#: The greatest number of reasons for waiting that are shown at once.
MOST_REASONS = 3
#: The states whose counts are shown first; together they count as done.
DONE_FIRST = (DONE, UNCHANGED)


class Lines:
    """Display for logs and pipes: a line for each event, each resource held at a hook, and each reason for waiting."""

    def __init__(self) -> None:
        self._shown: frozenset[HookView] = frozenset()
        self._reasons: set[tuple[str, str]] = set()

    def show(self, progress: "Progress", events: list["EventView"]) -> None:
        """Write the new events, newly held resources and new reasons for waiting."""
        for event in events:
            click.echo(event_line(event), err=True)
        held = frozenset(progress.hooks)
        for each in sorted(held - self._shown, key=lambda each: (each.since, each.resource)):
            click.echo(clear_line(progress.stack, each), err=True)
        self._shown = held
        fresh = dict(progress.reasons.items() - self._reasons)
        for line in in_lines(fresh):
            click.echo(line, err=True)
        self._reasons |= fresh.items()


class Screen:
    """Display for terminals: lines that are redrawn and fit the screen; failures and warnings scroll above them."""

    def __init__(self, console: "Console", looker: Looker | None = None) -> None:
        self._console = console
        self._looker = looker
        # Replaced by the operation's beginning at the first look.
        self._began = time.monotonic()
        self._traversal_id = ""
        self._progress: Progress | None = None
        self._look: Look | None = None
        self._tree: Sequence[Branch] | None = None

    def show(self, progress: "Progress", events: list["EventView"]) -> None:
        """Keep the progress for the next drawing, and write the failures and warnings among the new events."""
        from rich.text import Text

        look = self._looker.look() if self._looker else None
        if look is not self._look:
            # Once for each look, not for each drawing.
            self._look, self._tree = look, branches(look.picture, look.nested) if look else None
            self._set_clock()
        self._progress = as_looked(progress, look)
        for event in events:
            if event.status == "FAILED" and event.resource:
                self._console.print(Text(event_line(event), style="red"), soft_wrap=True)
            elif event.status == "IN_PROGRESS" and event.reason and not event.resource:
                self._console.print(Text(event_line(event), style="yellow"), soft_wrap=True)

    def _set_clock(self) -> None:
        """Set the clock to the operation's beginning; once for each operation, so that it never goes back."""
        if self._look is None or self._look.picture.operation.traversal_id == self._traversal_id:
            return
        picture = self._look.picture
        self._traversal_id = picture.operation.traversal_id
        self._began = time.monotonic() - max(0.0, picture.as_of - picture.operation.begun_at)

    def __rich__(self) -> "RenderableType":
        """Draw the present state; called several times a second, so that the clock advances."""
        from rich.text import Text

        if self._progress is None:
            return Text("starting ...", style="dim")
        return picture(
            self._progress,
            self._tree,
            elapsed_seconds=time.monotonic() - self._began,
            width=self._console.width,
            # A line is left for the cursor, so that nothing scrolls.
            height=self._console.height - 1,
            ascii_only=not has_signs(self._console.encoding),
        )


def as_looked(progress: "Progress", look: Look | None) -> "Progress":
    """Return the progress with the counts of the tree below it, which may be slightly older.

    The progress of a stack with nested stacks counts their resources too, and is returned unchanged.
    """
    if look is None or look.picture.total != progress.total:
        return progress
    seen = look.picture
    counts = {state: count for state, count in seen.counts.items() if count}
    action, _, status = seen.operation.stack_state.partition("_")
    return replace(
        progress,
        stack=replace(progress.stack, action=action, status=status),
        counts=counts,
        done=sum(counts.get(state, 0) for state in DONE_FIRST),
    )


def picture(
    progress: "Progress",
    tree: Sequence[Branch] | None = None,
    *,
    elapsed_seconds: float,
    width: int = 80,
    height: int = 24,
    ascii_only: bool = False,
) -> "RenderableType":
    """Return the drawing of an operation: its state, a bar, the counts, and the present work.

    The present work is a tree of the graph's layers or, without a look at the graph, a line of names.
    """
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    stack = progress.stack
    heading = Text.assemble((printable(stack.name), "bold"), "  ", (stack.state, state_style(stack.state)))
    heading.append(f"  {duration(elapsed_seconds)}", style="dim")
    bar = Table.grid(padding=(0, 1))
    # The library's own style for a bar in progress is red.
    colour = "red" if stack.status == "FAILED" else "green"
    bar.add_row(
        ProgressBar(
            total=max(progress.total, 1),
            completed=progress.done,
            width=min(40, max(width // 2, 4)),
            complete_style=colour,
            finished_style=colour,
        ),
        f"{progress.done}/{progress.total}",
    )
    counts = Text("  ")
    for state in (*DONE_FIRST, *(state for state in MARKS if state not in DONE_FIRST)):
        if progress.counts.get(state):
            counts.append(f"{state} {progress.counts[state]}  ", style=MARKS[state].style)
    held = [Text(f"  {clear_line(stack, each)}", style="magenta") for each in progress.hooks[:MOST_HELD]]
    if len(progress.hooks) > MOST_HELD:
        held.append(Text(f"  {len(progress.hooks) - MOST_HELD} more held at hooks", style="magenta"))
    for line in (heading, counts):
        line.no_wrap, line.overflow = True, "ellipsis"
    if tree is not None:
        # Lines with commands wrap and are never cut, so that they can be copied.
        room = height - 3 - sum(-(-line.cell_len // max(width, 1)) for line in held)
        return Group(
            heading, bar, counts, *held, *drawn(tree, width=width, lines=room, ascii_only=ascii_only)
        )
    now = Text(
        "  now: " + printable(", ".join(progress.running)) if progress.running else "", overflow="ellipsis"
    )
    now.no_wrap = True
    reasons = [Text(f"  {line}", style="yellow") for line in in_lines(progress.reasons)[:MOST_REASONS]]
    return Group(heading, bar, counts, now, *held, *reasons)


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
def display(looker: Looker) -> Iterator[Lines | Screen]:
    """Return a context with the display that suits stderr; a live display is removed at its end."""
    console = console_for_messages()
    if not console.is_terminal:
        yield Lines()
        return
    from rich.live import Live

    screen = Screen(console, looker)
    with Live(get_renderable=screen.__rich__, console=console, transient=True, refresh_per_second=8):
        yield screen


def follow(service: "Service", stack: "StackView", *, after: int) -> "StackView":
    """Show the progress of a stack's operation until it ends, and return the stack.

    Events up to the id ``after`` are not shown.
    """
    with display(Looker(service.observer, stack.id)) as shown:
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
