"""Which layer of a check a function works for, and the calls and the time of each layer.

That is the layer of the nearest function around it that :data:`LAYERS` names. So what JSON, msgpack or the driver of a
database do counts for the layer that called them.
"""

import signal
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

#: The root of our own packages.
ROOT: Final = Path(__file__).parents[2]
#: By the beginning of a file's path, or ``file:function``: the longest counts. A layer of a lower rank does not take
#: over from a higher one: what publishing needs of kombu and Celery is publishing.
LAYERS: Final[dict[str, tuple[int, str]]] = {
    "kombu/": (0, "broker"),
    "redis/": (0, "broker"),
    "vine/": (0, "broker"),
    "celery/": (0, "Celery"),
    "billiard/": (0, "Celery"),
    "orchestrator/queue/": (0, "our task"),
    "orchestrator/queue/redis_transport.py": (0, "broker"),
    "orchestrator/keys/": (0, "our task"),
    "workers/tasks.py": (0, "our task"),
    "workers/check/checker.py": (1, "check"),
    "celery/events/": (2, "events"),
    "orchestrator/queue/monitoring.py": (2, "events"),
    "orchestrator/engine/publisher.py": (2, "publish"),
    "orchestrator/store/nodes/claiming.py": (2, "claim"),
    "orchestrator/store/nodes/orders.py:NodeOrders.inputs": (2, "rebuild"),
    "orchestrator/store/traversals/traversals.py:Traversals.context": (2, "rebuild"),
    "workers/check/rebuilding.py": (2, "rebuild"),
    "workers/check/": (2, "step"),
    "orchestrator/store/nodes/endings.py": (2, "finish"),
    "orchestrator/store/traversals/": (2, "end"),
    "orchestrator/store/traversals/ledger.py": (2, "ledger"),
    "orchestrator/lifecycle/": (2, "ledger"),
    "workers/check/heartbeat.py": (2, "heartbeat"),
    "orchestrator/tracing/": (2, "tracing"),
    "orchestrator/config/log_context.py": (2, "logging"),
    "orchestrator/config/log_masking.py": (2, "logging"),
    "orchestrator/config/step_log.py": (2, "logging"),
    "structlog/": (2, "logging"),
}
OTHER: Final = (0, "other")
#: What the calls of a layer are counted as, with its name.
CALLS_OF: Final = "calls of"


@cache
def layer_of(code: CodeType) -> tuple[int, str] | None:
    """Return the rank and name of the layer that a function begins; None if it belongs to whatever calls it."""
    path = code.co_filename
    for root in (f"{ROOT}/", "/site-packages/"):
        _, found, rest = path.partition(root)
        if found and not rest.startswith("."):
            path = rest
            break
    name = f"{path}:{code.co_qualname}"
    longest = max((each for each in LAYERS if name.startswith(each)), key=len, default=None)
    return LAYERS[longest] if longest else None


def within(now: tuple[int, str], code: CodeType) -> tuple[int, str]:
    """Return the layer of a function that a layer calls."""
    found = layer_of(code)
    return found if found and found[0] >= now[0] else now


def layers_around(frame: FrameType | None) -> list[tuple[int, str]]:
    """Return the layers of a frame and of those around it, the outermost first."""
    frames = []
    while frame:
        frames.append(frame)
        frame = frame.f_back
    layers = [OTHER]
    for each in reversed(frames):
        layers.append(within(layers[-1], each.f_code))
    return layers


class LayerCalls:
    """Counts the functions that this thread calls, Python's and C's, by layer."""

    def __init__(self) -> None:
        self.counted = Counter[str]()
        self._stack: list[tuple[int, str]] = []

    def begin(self) -> None:
        """Begin to count."""
        self._stack = layers_around(sys._getframe())
        sys.setprofile(self._note)

    def end(self) -> None:
        """Stop counting."""
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._stack.append(within(self._stack[-1], frame.f_code))
        if event in ("call", "c_call"):
            self.counted[self._stack[-1][1]] += 1
        elif event == "return" and len(self._stack) > 1:
            self._stack.pop()


class LayerTime:
    """Finds out in which layer the time goes, in seconds, by samples: nothing is slowed down by being measured.

    Samples of processor time are those of the whole process: what other threads use is spread over all layers.
    """

    def __init__(self, *, waiting: bool) -> None:
        self._timer, self._signal = (
            (signal.ITIMER_REAL, signal.SIGALRM) if waiting else (signal.ITIMER_PROF, signal.SIGPROF)
        )
        self._clock = time.perf_counter if waiting else time.process_time
        self._samples, self._begun, self.seconds = Counter[str](), 0.0, 0.0

    def begin(self) -> None:
        """Begin to sample, a thousand times a second, or as often as the system's clock ticks."""
        signal.signal(self._signal, self._sample)
        signal.setitimer(self._timer, 0.001, 0.001)
        self._begun = self._clock()

    def end(self) -> None:
        """Stop sampling."""
        signal.setitimer(self._timer, 0)
        self.seconds = self._clock() - self._begun

    @property
    def counted(self) -> dict[str, float]:
        """The seconds by layer."""
        total = max(1, self._samples.total())
        return {name: count / total * self.seconds for name, count in self._samples.items()}

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        self._samples[layers_around(frame)[-1][1]] += 1
