"""Parts of an operation's end that are tried once, unless a service is away."""

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.config.logger import get_logger
from orchestrator.errors import Unavailable
from orchestrator.store.traversals.traversals import ClaimedEnd

log = get_logger()


@contextmanager
def tried_once(part: str, ending: ClaimedEnd) -> Iterator[None]:
    """Leave out a part of an operation's end that raises: a bug would be the same at every other try.

    Raises:
        Unavailable: a service does not answer; the end stays claimable, and all of it is tried again.
    """
    try:
        yield
    except Unavailable:
        raise
    except Exception:
        log.exception("a part of the end of an operation is left out", part=part, stack_name=ending.stack)
