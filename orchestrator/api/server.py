"""The server of the API: gunicorn, with the application made in each of its processes."""

import ipaddress
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.workers.base import Worker

from orchestrator.api.application import make_application, make_keystone_application
from orchestrator.api.callers import identifier_of
from orchestrator.api.door import Door
from orchestrator.api.kinds import KEYSTONE, NONE
from orchestrator.config.garbage import settle
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.processes.preloading import preload


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How the API is served."""

    address: str = "127.0.0.1"
    port: int = 8004
    #: One of :data:`orchestrator.api.kinds.KINDS`.
    auth: str
    processes: int = 1
    threads: int = 8
    certificate: Path | None = None
    key: Path | None = None
    #: Whether ``X-Forwarded-*`` of the proxy in front of it say how clients reach it.
    behind_proxy: bool = False
    #: Whether requests are counted, and ``/metrics`` is served.
    metrics: bool = False


def check_serving(serving: Serving) -> None:
    """Check that the API can be served so, and not without authentication to others than this machine.

    Raises:
        InvalidInput: it cannot.
    """
    problems = []
    if serving.auth == NONE and not _is_loopback(serving.address):
        hint = "without authentication only 127.0.0.1 or ::1 is served: give --auth tokens or --auth keystone"
        message = f"whoever reaches {serving.address} could do anything"
        problems.append(Problem(path="--auth none", message=message, hint=hint))
    for option, file in (("--certificate", serving.certificate), ("--key", serving.key)):
        if file is not None and not os.access(file, os.R_OK):
            problems.append(Problem(path=option, message=f"{file} cannot be read"))
    if serving.key is not None and serving.certificate is None:
        problems.append(Problem(path="--key", message="expected --certificate with it"))
    if problems:
        raise InvalidInput(problems)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address == "localhost"


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn is untyped
    """Serves the API until SIGTERM or Ctrl-C.

    ``say`` is told the address once it is served.
    """

    def __init__(self, settings: Settings, serving: Serving, say: Callable[[str], None]) -> None:
        self._settings, self._serving, self._say = settings, serving, say
        self._door: Door | None = None
        #: Where processes keep their metrics for each other.
        self._directory = tempfile.mkdtemp(prefix="isotherm-api-") if serving.metrics else ""
        super().__init__()

    def load_config(self) -> None:
        """Set gunicorn's options."""
        serving = self._serving
        host = f"[{serving.address}]" if ":" in serving.address else serving.address
        options: dict[str, Any] = {
            "bind": f"{host}:{serving.port}",
            # An embedded installation carries its work out in this one process.
            "workers": 1 if self._settings.embedded else serving.processes,
            "threads": serving.threads,
            "worker_class": "gthread",
            "proc_name": "isotherm-api",
            # A create waits until a coordinator has answered, which may query other systems.
            "timeout": 330,
            "graceful_timeout": 30,
            "keepalive": 15,
            "limit_request_line": 8190,
            "limit_request_fields": 64,
            "forwarded_allow_ips": "*" if serving.behind_proxy else "",
            # The processes that answer are forked from one that has imported what requests need.
            "on_starting": lambda _: preload(),
            "post_worker_init": self._ready,
            "worker_exit": self._left,
            "on_exit": self._ended,
            "loglevel": "warning",
        }
        if serving.certificate is not None:
            options |= {
                "certfile": str(serving.certificate),
                "keyfile": str(serving.key or serving.certificate),
            }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Callable[..., Any]:
        """Make the application, in the process that serves it."""
        serving, metrics = self._serving, None
        if serving.metrics:
            # prometheus-client reads it when it is imported.
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = self._directory
            from orchestrator.api.metrics import RequestMetrics

            metrics = RequestMetrics()
        self._door = Door.open(self._settings, behind_proxy=serving.behind_proxy)
        self._door.start()
        if serving.auth == KEYSTONE:
            return make_keystone_application(self._door, behind_proxy=serving.behind_proxy, metrics=metrics)
        identify = identifier_of(serving.auth, self._settings)
        return make_application(self._door, identify, behind_proxy=serving.behind_proxy, metrics=metrics)

    def _ready(self, worker: Worker) -> None:
        settle()
        scheme = "https" if self._serving.certificate is not None else "http"
        # The port may have been chosen by the system.
        _host, port = worker.sockets[0].sock.getsockname()[:2]
        host = f"[{self._serving.address}]" if ":" in self._serving.address else self._serving.address
        url = f"{scheme}://{host}:{port}/v1"
        if self._door is not None:
            self._door.attend(url)
        # Once, by the first process that has made the application.
        if worker.age == 1:
            self._say(url)

    def _left(self, _arbiter: object, _worker: Worker) -> None:
        if self._door is not None:
            self._door.close()

    def _ended(self, _arbiter: object) -> None:
        if self._directory:
            shutil.rmtree(self._directory, ignore_errors=True)
