"""A real RabbitMQ, with a node of its own, known to nobody else on the machine."""

import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import tenacity
from kombu.connection import Connection

from tests.services.process import HOST, READY_SECONDS, MissingServer, Server, free_port, unprivileged

#: It takes its settings from variables alone, so what starts it is env.
PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


class RabbitServer(Server):
    """RabbitMQ; a restart keeps durable queues and what is persistent in them."""

    program = "env"
    package = "rabbitmq-server"
    # In good order takes it seconds, and it is made to lose nothing.
    crash_signal = stop_signal = Server.crash_signal
    not_ready = (OSError,)

    def __init__(self) -> None:
        super().__init__()
        self._names_port = free_port()

    @classmethod
    def find(cls) -> Path:
        """Return what starts it.

        Raises:
            MissingServer: it is not installed.
        """
        if not PROGRAM.exists():
            raise MissingServer(f"{PROGRAM} not found: run .ci/servers, or apt-get install {cls.package}")
        return super().find()

    def prepare(self) -> None:
        """Start the register of names that Erlang needs; nobody else's may end with ours."""
        died_with_us = f"--pdeathsig={self.crash_signal.name.removeprefix('SIG')}"
        self._names = subprocess.Popen(
            [*unprivileged(died_with_us), "epmd", "-port", str(self._names_port), "-address", HOST],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # If it were not there by then, RabbitMQ would start one that nobody ends.
        _until_there(self._names_port)

    def arguments(self) -> list[str]:
        """Return all that it would otherwise share with other nodes, and the program."""
        at = self.directory
        variables = {
            "HOME": at,
            "RABBITMQ_NODENAME": f"isotherm-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": HOST,
            "RABBITMQ_NODE_PORT": self.port,
            "RABBITMQ_DIST_PORT": free_port(),
            "ERL_EPMD_PORT": self._names_port,
            "ERL_EPMD_ADDRESS": HOST,
            "RABBITMQ_MNESIA_BASE": at / "data",
            "RABBITMQ_LOG_BASE": at / "logs",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_GENERATED_CONFIG_DIR": at / "generated",
            "RABBITMQ_ENABLED_PLUGINS_FILE": at / "plugins",
            "RABBITMQ_PLUGINS_EXPAND_DIR": at / "expanded",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": at / "none",
            # Otherwise a shell would stand between us and the server.
            "RABBITMQ_ALLOW_INPUT": "true",
            # One scheduler, which does not spin while it waits: a machine full of tests has no cores to spare.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-noinput +S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none",
        }
        return [*(f"{name}={value}" for name, value in variables.items()), str(PROGRAM)]

    def probe(self) -> None:
        """Connect."""
        with Connection(self.url, connect_timeout=READY_SECONDS) as connection:
            connection.connect()

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"amqp://guest:guest@{HOST}:{self.port}//"

    def close(self) -> None:
        """End it, and the register of names."""
        super().close()
        with suppress(AttributeError):
            self._names.kill()
            self._names.wait()


@tenacity.retry(
    retry=tenacity.retry_if_exception_type(OSError),
    wait=tenacity.wait_fixed(0.02),
    stop=tenacity.stop_after_delay(READY_SECONDS),
    reraise=True,
)
def _until_there(port: int) -> None:
    """Return when somebody listens on a port."""
    socket.create_connection((HOST, port), timeout=READY_SECONDS).close()
