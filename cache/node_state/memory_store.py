"""A store of machine states in the memory of one process."""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from copy import copy

from cache.node_state.records import CommonRecord, NodeRecord, RecordStore


class MemoryNodeStore(RecordStore):
    """For agents and callers in one process; its content ends with it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._lock = threading.Lock()
        self._common = CommonRecord()
        self._records: dict[str, NodeRecord] = {}

    def names(self) -> frozenset[str]:
        """Return the names of the known nodes."""
        with self._lock:
            return frozenset(name for name, record in self._records.items() if record.known)

    def forget(self, node: str) -> None:
        """Delete everything about a node."""
        with self._lock:
            self._records.pop(node, None)

    def _read(self, node: str) -> tuple[CommonRecord, NodeRecord]:
        # Fields are replaced and never changed in place, so that shallow copies are enough; dicts of marks are
        # changed, and only their emptiness and their times are read.
        with self._lock:
            common, record = copy(self._common), copy(self._records.get(node, NodeRecord()))
            common.marks, record.marks = dict(common.marks), dict(record.marks)
            return common, record

    @contextmanager
    def _changing(
        self,
        nodes: Collection[str] = (),
        *,
        common: bool = False,  # noqa: ARG002  # everything is kept
    ) -> Iterator[tuple[CommonRecord, dict[str, NodeRecord]]]:
        with self._lock:
            yield self._common, {node: self._records.setdefault(node, NodeRecord()) for node in nodes}
