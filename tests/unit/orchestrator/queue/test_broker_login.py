"""The login at the broker is tried before a process begins, and a busy broker has time to refuse it."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from orchestrator.config.settings import Settings
from orchestrator.queue.broker_login import require_broker_login
from tests.waiting import PATIENCE_SECONDS

#: How long a broker may take at least.
BUSY_SECONDS = 3.0


def test_a_busy_broker_is_waited_for() -> None:
    with ThreadPoolExecutor(1) as threads:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(PATIENCE_SECONDS)
            url = f"amqp://guest:guest@127.0.0.1:{server.getsockname()[1]}//"
            required = threads.submit(require_broker_login, Settings(broker_url=url))
            connection, _ = server.accept()
        with connection:
            assert connection.recv(4096).startswith(b"AMQP")
            connection.settimeout(BUSY_SECONDS)
            # Who gives up closes the connection.
            with pytest.raises(TimeoutError):
                connection.recv(4096)
        # One that is gone may be there later.
        required.result(PATIENCE_SECONDS)
