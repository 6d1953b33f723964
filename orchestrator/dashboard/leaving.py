"""Exit of a process within seconds, even if its threads are blocked."""

import os
import threading
from typing import Final

#: The time that threads have to finish.
PATIENCE_SECONDS: Final = 3.0


def leave_in_time(seconds: float = PATIENCE_SECONDS) -> None:
    """End this process with 0 after at most ``seconds``.

    Python waits at exit for the threads of executors. Flower has some that retry the broker for ever while it is
    unreachable: the dashboard would never end.
    """
    timer = threading.Timer(seconds, os._exit, (0,))
    timer.daemon = True
    timer.start()
