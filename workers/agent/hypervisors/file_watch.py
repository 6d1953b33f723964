"""A thread that waits for many files at once: handles of processes, and monitors of virtual machines."""

import os
import selectors
import threading
from collections.abc import Callable


class FileWatch:
    """Calls ``ready`` of each file from which something can be read, in a thread; closed, it calls nothing more.

    A file whose ``ready`` returns False is not watched any longer. It is closed then, or with the watch.
    """

    def __init__(self, name: str) -> None:
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = os.pipe()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._guard = threading.Lock()
        self.closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def add(self, descriptor: int, ready: Callable[[], bool], close: Callable[[], None]) -> None:
        """Watch a file from now on; where the watch is closed, the file is closed at once."""
        with self._guard:
            if self.closed:
                close()
                return
            self._selector.register(descriptor, selectors.EVENT_READ, (ready, close))
            # Where the selector is no epoll, a wait under way does not see what is added to it.
            os.write(self._wake, b"\0")

    def close(self) -> None:
        """Watch nothing more, and wait until the last call is over."""
        with self._guard:
            if self.closed:
                return
            self.closed = True
            os.write(self._wake, b"\0")
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self.closed:
            for key, _ in self._selector.select():
                if key.data is None:
                    os.read(self._woken, 4096)
                    continue
                ready, close = key.data
                if not self.closed and not ready():
                    with self._guard:
                        self._selector.unregister(key.fd)
                    close()
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                key.data[1]()
        self._selector.close()
        os.close(self._woken)
        os.close(self._wake)
