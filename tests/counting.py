"""What something costs on any machine: how many functions it calls, and how many statements it runs."""

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import sqlalchemy as sa

from orchestrator.store.direct import Direct


def calls(act: Callable[[], object]) -> int:
    """Return how many functions are called, Python's and C's, while ``act`` runs."""
    counted = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return counted


def count_statements(note: Callable[[], object]) -> Callable[[], None]:
    """Call ``note`` for what this thread passes to a database's driver from here on: by SQLAlchemy, or directly.

    Returns what ends it.
    """
    thread = threading.get_ident()

    def noted(*_: object) -> None:
        if threading.get_ident() == thread:
            note()

    def counted(run: Callable[..., Any]) -> Callable[..., Any]:
        def run_and_count(*arguments: Any, **options: Any) -> Any:
            noted()
            return run(*arguments, **options)

        return run_and_count

    sa.event.listen(sa.Engine, "before_cursor_execute", noted)
    direct: Any = Direct
    before = Direct._execute
    direct._execute = counted(before)

    def end() -> None:
        sa.event.remove(sa.Engine, "before_cursor_execute", noted)
        direct._execute = before

    return end
