"""The caller on whose behalf this thread acts, for what records it: operations, jobs, the audit log."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from orchestrator.model.identity import ENGINE_ITSELF, Caller

_caller: ContextVar[Caller] = ContextVar("caller", default=ENGINE_ITSELF)


def caller() -> Caller:
    """Return the caller on whose behalf this thread acts."""
    return _caller.get()


@contextmanager
def acting_for(who: Caller) -> Iterator[None]:
    """Act on behalf of a caller within the block."""
    token = _caller.set(who)
    try:
        yield
    finally:
        _caller.reset(token)
