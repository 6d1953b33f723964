"""What a process logs while something is done, as its log file would have it."""

import io
import logging
from collections.abc import Callable
from contextlib import redirect_stderr

import structlog

from orchestrator.cli.logs import configure_logs
from orchestrator.config.settings import Settings


def logged(act: Callable[[], object], form: str = "json") -> str:
    """Return the log, at every level, of what is done meanwhile."""
    stream, root, before = io.StringIO(), logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level
    try:
        with redirect_stderr(stream):
            configure_logs(Settings(log_level="DEBUG", log_format=form))
            act()
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.configure(**before)
    return stream.getvalue()
