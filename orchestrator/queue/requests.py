"""Requests of tasks in a worker, as Celery's remote control shows them."""

from typing import Any

from celery.worker.request import Request


class QuietRequest(Request):  # type: ignore[misc]  # celery has no types
    """A request of a task, whose arguments no command of remote control shows."""

    def info(self, safe: bool = False) -> dict[str, Any]:  # noqa: ARG002  # Celery passes it
        """Return what may be shown of it."""
        shown: dict[str, Any] = super().info(safe=True)
        return shown
