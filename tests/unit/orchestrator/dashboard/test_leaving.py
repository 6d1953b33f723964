"""A dashboard that is told to end ends, though a thread waits for a broker that is away."""

import subprocess
import sys
from pathlib import Path

from orchestrator import dashboard

CODE = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
sys.path.insert(0, sys.argv[1])
from leaving import leave_in_time
ThreadPoolExecutor().submit(threading.Event().wait)
leave_in_time(0.1)
"""


def test_a_thread_that_waits_for_ever_does_not_keep_a_process_that_leaves() -> None:
    # The module alone: what else there is takes a second to import.
    folder = str(Path(dashboard.__file__ or "").parent)
    run = subprocess.run([sys.executable, "-I", "-c", CODE, folder], timeout=300, check=False)
    assert run.returncode == 0
