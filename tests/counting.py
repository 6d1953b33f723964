"""What something costs on any machine: how many functions it calls, and how many statements it runs."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.store.direct import Direct

_for_good: Final = ExitStack()


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


@contextmanager
def heard(note: Callable[[str], object]) -> Iterator[None]:
    """Call ``note`` with each statement that is passed to a database's driver meanwhile: by SQLAlchemy, or directly.

    Those of all threads and databases are; one with many values is one.
    """
    direct: Any = Direct
    before = {name: getattr(Direct, name) for name in ("_execute", "_execute_each")}

    def noted(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        note(statement)

    def noting(run: Callable[..., Any]) -> Callable[..., Any]:
        def run_and_note(self: Direct, sql: str, values: Any) -> Any:
            note(sql)
            return run(self, sql, values)

        return run_and_note

    sa.event.listen(sa.Engine, "before_cursor_execute", noted)
    for name, run in before.items():
        setattr(direct, name, noting(run))
    try:
        yield
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", noted)
        for name, run in before.items():
            setattr(direct, name, run)


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collect the statements of this thread that :func:`heard` tells: other tests may have left some that read on."""
    sent, thread = list[str](), threading.get_ident()
    with heard(lambda sql: sent.append(sql) if threading.get_ident() == thread else None):
        yield sent


def count_statements(note: Callable[[], object]) -> None:
    """Call ``note`` for each statement of this thread from here on, to the end of the process."""
    thread = threading.get_ident()

    def noted(_statement: str) -> None:
        if threading.get_ident() == thread:
            note()

    _for_good.enter_context(heard(noted))
