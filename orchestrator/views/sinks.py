"""Views of event sinks."""

from dataclasses import dataclass

from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkView(View):
    """An event sink and its position; times are seconds since the epoch by the database's clock."""

    #: The name of its cursor: the sink's name in the settings; for a sink of an environment, the stack's id and a
    #: number.
    name: str
    type: str
    #: The name and id of the stack whose events it receives; empty for a sink in the settings.
    stack: str = ""
    stack_id: str = ""
    #: Whether it is enabled; events are kept for a disabled sink too.
    enabled: bool
    #: The id of the last event that it received; None before a coordinator has registered it.
    position: int | None = None
    #: The number of events that wait for it, and how long the first of them has waited.
    backlog: int = 0
    behind_seconds: float = 0.0
    #: The number of events that were removed before it received them.
    lost: int = 0
    failing_since: float | None = None
    failing_seconds: float = 0.0
    #: How often it has failed since then, and its last error.
    failures: int = 0
    error: str = ""
    #: The process that delivers to it; empty for none.
    owner: str = ""
