"""The log lines of a resource's steps, as faces show them."""

from typing import TYPE_CHECKING, Final

from orchestrator.views.resource_page import LogLineView, StepLogView

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings
    from orchestrator.store.store import Store

#: The most steps whose lines are shown.
STEPS: Final = 20
_DAY: Final = 86400.0


def logs_of(
    store: "Store", settings: "Settings", stack_id: str, name: str, traversal_id: str | None = None
) -> tuple[StepLogView, ...]:
    """Return the log lines of a resource's last steps, or of those in one operation, the newest step first."""
    seconds = settings.keep_log_lines_days * _DAY
    rows = store.step_logs.of(stack_id, name, limit=STEPS, seconds=seconds, traversal_id=traversal_id)
    return tuple(
        StepLogView(
            traversal_id=row.traversal_id,
            action=row.action,
            worker=row.worker,
            at=row.at,
            lines=tuple(
                LogLineView(at=line.at, level=line.level, message=line.message) for line in row.log.lines
            ),
            left_out=row.log.left_out,
        )
        for row in reversed(rows)
    )
