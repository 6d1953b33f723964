"""Operations that threads of this process work on, to distinguish live leases of this process from stale ones."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class RunningOperations:
    """The set of operations that threads of this process work on; thread-safe."""

    def __init__(self) -> None:
        self._active: set[str] = set()
        self._lock = threading.Lock()

    def is_idle(self, operation_id: str) -> bool:
        """Return whether no thread of this process works on an operation."""
        with self._lock:
            return operation_id not in self._active

    @contextmanager
    def on(self, operation_id: str) -> Iterator[None]:
        """Mark an operation as worked on while a block runs; blocks may be nested."""
        with self._lock:
            is_outermost = operation_id not in self._active
            self._active.add(operation_id)
        try:
            yield
        finally:
            if is_outermost:
                with self._lock:
                    self._active.discard(operation_id)
