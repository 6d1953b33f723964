"""Names of stacks and resources on Flower's pages: those of the dashboard's project alone.

The pages about stacks show one project. Celery's events and the reports of its workers name the stack and the resource
of every task, of whatever project, and Flower shows them as they come. Here they are taken out of what is not certainly
of the project: of its tasks, the arguments, the result and the error. The reports of workers, which may have whole jobs
in them, lose all arguments.
"""

import ast
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from flower.inspector import Inspector

from orchestrator.errors import Unavailable

#: How long it is remembered in which projects there are stacks of a name.
_KNOWN_SECONDS: Final = 10.0
_MOST_KNOWN: Final = 1000
#: The number of tasks of the project whose later events are shown as they are.
_MOST_TASKS: Final = 20_000
#: Shown in place of arguments.
_NONE: Final = {"args": "()", "kwargs": "{}"}
#: The fields of a task's later events that may have names in them.
_ENDS: Final = ("result", "exception", "traceback")


class TaskNames:
    """Takes names of other projects out of Celery's events; used by one thread."""

    def __init__(
        self,
        projects_of: Callable[[str], Collection[str]],
        project: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep the arguments; ``projects_of`` returns the projects that have, or had, stacks of a name or an id."""
        self._projects_of, self._project, self._clock = projects_of, project, clock
        #: Whether all stacks of a name are of the project, and when that was looked up.
        self._known: OrderedDict[str, tuple[bool, float]] = OrderedDict()
        #: The ids of the project's tasks, the latest last.
        self._ours: OrderedDict[str, None] = OrderedDict()

    def shown(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an event as Flower may show it."""
        if not str(event.get("type", "")).startswith("task-"):
            return event
        shown, task_id = dict(event), str(event.get("uuid", ""))
        named = "kwargs" in event
        if named and self._is_shown(event["kwargs"]):
            self._note(task_id)
        elif named:
            shown |= _NONE
        if task_id not in self._ours:
            shown |= {name: _without_names(name, shown[name]) for name in _ENDS if name in shown}
        return shown

    def _is_shown(self, kwargs: object) -> bool:
        """Return whether the arguments, as text, name a stack of the project, or none."""
        try:
            given = ast.literal_eval(str(kwargs))
        except (SyntaxError, ValueError):
            return False
        if not isinstance(given, dict):
            return False
        return self._is_ours(str(given["stack"])) if "stack" in given else "resource" not in given

    def _is_ours(self, name: str) -> bool:
        now = self._clock()
        is_ours, at = self._known.get(name, (False, float("-inf")))
        if now - at < _KNOWN_SECONDS:
            return is_ours
        try:
            # A stack of the same name in another project would be shown with this one.
            projects = set(self._projects_of(name))
        except Unavailable:
            return False
        if not projects:
            # It may be created just now: the checks of its resources follow within milliseconds.
            return False
        is_ours = projects == {self._project}
        self._known[name] = (is_ours, now)
        self._known.move_to_end(name)
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return is_ours

    def _note(self, task_id: str) -> None:
        self._ours[task_id] = None
        self._ours.move_to_end(task_id)
        if len(self._ours) > _MOST_TASKS:
            self._ours.popitem(last=False)


def _without_names(field: str, value: object) -> str:
    """Return what may be shown of the end of any task: the kind of its error."""
    return str(value).partition("(")[0] if field == "exception" else ""


class DiscreetInspector(Inspector):  # type: ignore[misc]  # Flower is untyped
    """Flower's inspector of workers, without the arguments of the tasks that they have."""

    def _on_update(self, workername: str, method: str, response: Any) -> None:
        if method in self.task_inspect_methods and isinstance(response, list):
            response = [_without_arguments(each) for each in response]
        super()._on_update(workername, method, response)


def _without_arguments(task: Any) -> Any:
    if not isinstance(task, Mapping):
        return task
    request = task.get("request")
    inner = {"request": {**request, **_NONE}} if isinstance(request, Mapping) else {}
    return {**task, **inner, **(_NONE if "kwargs" in task else {})}
