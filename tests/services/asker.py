"""A process of many threads that ask the same at the same moment, for tests: ``python -m tests.services.asker 100``.

It writes "ready", asks when a line comes in, and writes how many were told the same id, which there is.
"""

import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from orchestrator.config.settings import load_settings
from orchestrator.plugins.clients import Clients
from tests.services.demanding import path_of


def main() -> None:
    """Ask."""
    threads = int(sys.argv[1])
    client = Clients(load_settings()).of("default").get("http")
    start = threading.Barrier(threads)

    def find(_: int) -> str:
        start.wait()
        return client.find("path", path_of("cirros"), use_cache=True)

    print("ready", flush=True)
    sys.stdin.readline()
    with ThreadPoolExecutor(threads) as pool:
        ((_, same),) = Counter(pool.map(find, range(threads))).items()
    print(same, flush=True)


if __name__ == "__main__":
    main()
