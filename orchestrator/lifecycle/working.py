"""Which operations the threads of this process work on, whatever is on record."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Working:
    """The operations that a thread of this process works on; serves many threads."""

    def __init__(self) -> None:
        self._active: set[str] = set()
        self._lock = threading.Lock()

    def is_idle(self, operation_id: str) -> bool:
        """Tell whether nobody here works on an operation."""
        with self._lock:
            return operation_id not in self._active

    @contextmanager
    def on(self, operation_id: str) -> Iterator[None]:
        """Note, while a block runs, that this thread works on an operation; blocks may be nested."""
        with self._lock:
            is_outermost = operation_id not in self._active
            self._active.add(operation_id)
        try:
            yield
        finally:
            if is_outermost:
                with self._lock:
                    self._active.discard(operation_id)
