"""Progress of an operation on a terminal: redrawn several times a second, with a tree of the present work."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from orchestrator.cli.events import event_line
from orchestrator.cli.formats import printable, state_style
from orchestrator.cli.lines import clear_line, in_lines
from orchestrator.cli.live_tree import Branch, branches, drawn
from orchestrator.cli.looking import Look, Looker
from orchestrator.cli.state_marks import MARKS, has_signs
from orchestrator.cli.times import duration
from orchestrator.views.vertex_states import DONE, UNCHANGED

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from orchestrator.views.stacks import EventView, Progress

#: The greatest number of resources held at hooks that are shown.
MOST_HELD = 3
#: The greatest number of reasons for waiting that are shown at once.
MOST_REASONS = 3
#: The states whose counts are shown first; together they count as done.
DONE_FIRST = (DONE, UNCHANGED)


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
