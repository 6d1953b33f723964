"""The states of vertices: of what pages draw of an operation's nodes."""

from typing import Final

#: The states of a vertex, in the order of its life. They refine the states of a node in the store: ``retrying`` and
#: ``held`` (at a hook) are waiting nodes, ``unchanged`` is a done one, ``unreached`` one that was not done when the
#: operation was over.
BLOCKED: Final = "blocked"
READY: Final = "ready"
RUNNING: Final = "running"
WAITING: Final = "waiting"
RETRYING: Final = "retrying"
HELD: Final = "held"
DONE: Final = "done"
UNCHANGED: Final = "unchanged"
FAILED: Final = "failed"
UNREACHED: Final = "unreached"
STATES: Final = (BLOCKED, READY, RUNNING, WAITING, RETRYING, HELD, DONE, UNCHANGED, FAILED, UNREACHED)
#: The final states.
OVER: Final = frozenset({DONE, UNCHANGED, FAILED, UNREACHED})

#: The states in which the action is under way, even if an earlier operation began it.
BEGUN: Final = frozenset({RUNNING, WAITING, RETRYING})

#: The kinds of spans: blocked (waits for its requirements); ready and queued; running (a step, or the action under way
#: outside); tried again after a failure; standing at a hook.
SPANS: Final = ("blocked", "queued", "running", "retrying", "held")
SPAN_BLOCKED, SPAN_QUEUED, SPAN_RUNNING, SPAN_RETRYING, SPAN_HELD = SPANS
