"""What the faces show of event sinks."""

from dataclasses import dataclass

from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkView(View):
    """How far an event sink has been told; times are seconds since the epoch by the database's clock."""

    #: What its cursor is called: of a sink in the settings its name, of one that an environment names the stack's id
    #: and a number.
    name: str
    type: str
    #: The one stack that it is told of, by name and id; empty of a sink in the settings.
    stack: str = ""
    stack_id: str = ""
    #: Whether it is told what happens; if not, events are kept for it all the same.
    enabled: bool
    #: The id of the last event that it was told; None where no coordinator has begun to tell it yet.
    position: int | None = None
    #: How many events wait for it, and for how long the first of them has.
    backlog: int = 0
    behind_seconds: float = 0.0
    #: How many events it was not told in time, and never will be.
    lost: int = 0
    failing_since: float | None = None
    failing_seconds: float = 0.0
    #: How often it failed since then, and what it said last.
    failures: int = 0
    error: str = ""
    #: Which process tells it; empty if none does.
    owner: str = ""
