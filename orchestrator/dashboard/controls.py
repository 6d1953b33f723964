"""Flower's API for the control of workers and tasks, protected by our roles, which Flower does not have.

Without this a viewer could send the task ``stack.delete`` through Flower's API.
"""

from collections.abc import Sequence
from typing import Any, Final

from flower.api import BaseApiHandler
from flower.api.tasks import TaskApply, TaskAsyncApply, TaskSend
from flower.urls import handlers as flowers
from tornado.web import HTTPError, url

from orchestrator.dashboard.access import Refusal, control_refusal
from orchestrator.dashboard.handlers.base import Known

#: Handlers that can send any task.
_SENDING: Final = (TaskApply, TaskAsyncApply, TaskSend)
_READING: Final = ("GET", "HEAD", "OPTIONS")


class Control(Known):
    """Mixin that refuses changing requests by role, before Flower's own checks."""

    def prepare(self) -> object:
        """Check the role, then do what Flower does.

        Raises:
            HTTPError: the visitor's role does not allow the request.
        """
        mode, operation = self.application.mode, ""
        if self.request.method not in _READING and self.get_current_user():
            sends = isinstance(self, _SENDING)
            operation = "flower.send" if sends else "flower.control"
            refused = control_refusal(mode, self.visitor, sends=sends)
            if refused:
                self._record(operation, refused)
                raise HTTPError(refused.status, "%s", refused.sentence)
        # With tokens, Flower would demand one of its own logins; the application has identified the visitor.
        prepared = None if mode.tokens else super().prepare()
        if operation and mode.authenticates:
            self._record(operation)
        return prepared

    def _record(self, operation: str, refused: Refusal | None = None) -> None:
        identity = self.visitor.identity(self.application.mode)
        self.application.record(identity, operation, self.request, refused)


def controls(rules: Sequence[Any] = flowers) -> list[Any]:
    """Return the routes of Flower's API, with its handlers behind :class:`Control`."""
    found = []
    for rule in rules:
        pattern, handler = (rule.regex.pattern, rule.handler_class) if isinstance(rule, url) else rule[:2]
        if isinstance(handler, type) and issubclass(handler, BaseApiHandler):
            guarded = type(handler.__name__, (Control, handler), {})
            found.append(url(pattern.removesuffix("$"), guarded))
    return found
