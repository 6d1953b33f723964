"""Internal tasks of coordinators: they run every few seconds, and would push all others out of Flower's memory."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.model.messages import BEGIN_TASK, SWEEP_TASK, WATCH_TASK

#: Sweeps, looks at machines, and looks for jobs: their work is seen in what they write, and in the logs.
INTERNAL_TASKS: Final = frozenset({SWEEP_TASK, WATCH_TASK, BEGIN_TASK})
#: The number of tasks that are remembered until their last event.
_MOST_KNOWN: Final = 1000


class InternalTasks:
    """Recognizes Celery's events of internal tasks; used by one thread."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, str] = OrderedDict()

    def name_in(self, event: Mapping[str, Any]) -> str:
        """Return the name of the internal task that an event is about; empty if it is about none.

        Only the first events of a task have its name: a task is remembered by its id.
        """
        task_id, name = str(event.get("uuid", "")), str(event.get("name") or "")
        if name in INTERNAL_TASKS:
            self._known[task_id] = name
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return self._known.get(task_id, "")
