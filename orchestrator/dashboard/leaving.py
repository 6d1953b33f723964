"""Ends a process in time, whatever its threads wait for."""

import os
import threading
from typing import Final

#: How long threads have for what they are at.
PATIENCE_SECONDS: Final = 3.0


def leave_in_time(seconds: float = PATIENCE_SECONDS) -> None:
    """Have this process end with 0 within seconds, now that all it had to do is done.

    Python waits at its end for the threads of executors. Flower has some that ask the broker again and again, for ever
    while it is away: a dashboard that is told to end would stay.
    """
    timer = threading.Timer(seconds, os._exit, (0,))
    timer.daemon = True
    timer.start()
