"""What Flower itself can do to workers and tasks, behind our roles: it knows none.

Without this a viewer could send the task ``stack.delete`` through Flower's interface for programs.
"""

from collections.abc import Sequence
from typing import Any, Final

from flower.api import BaseApiHandler
from flower.api.tasks import TaskApply, TaskAsyncApply, TaskSend
from flower.urls import handlers as flowers
from tornado.web import HTTPError, url

from orchestrator.dashboard.access import control_refusal
from orchestrator.dashboard.handlers.base import Known

#: What is sent by these may be any task.
_SENDING: Final = (TaskApply, TaskAsyncApply, TaskSend)
_READING: Final = ("GET", "HEAD", "OPTIONS")


class Control(Known):
    """Refuses what changes something to those who may not; the rest is Flower's."""

    def prepare(self) -> Any:
        """Ask for the role first, and then what Flower asks for."""
        if self.request.method not in _READING and self.get_current_user():
            sends = isinstance(self, _SENDING)
            refused = control_refusal(self.application.mode, self.visitor, sends=sends)
            if refused:
                raise HTTPError(refused.status, "%s", refused.sentence)
        return super().prepare()


def controls(rules: Sequence[Any] = flowers) -> list[Any]:
    """Return Flower's addresses of what changes something, answered by its handlers with our roles before them."""
    found = []
    for rule in rules:
        pattern, handler = (rule.regex.pattern, rule.handler_class) if isinstance(rule, url) else rule[:2]
        if isinstance(handler, type) and issubclass(handler, BaseApiHandler):
            guarded = type(handler.__name__, (Control, handler), {})
            found.append(url(pattern.removesuffix("$"), guarded))
    return found
