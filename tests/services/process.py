"""A server process of our own: started on a free port, in a directory of its own, gone afterwards.

A server dies with the thread that started it, even when our process is killed outright
(``PR_SET_PDEATHSIG``): start it from the main thread. Only its directory is left behind then.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self

import tenacity

#: How long a server may take to answer, and to end, on the slowest and busiest of machines.
READY_SECONDS = 300.0
STOP_SECONDS = 300.0
HOST = "127.0.0.1"
#: Of the ports that tests give away: some browsers refuse lower ones.
_FIRST_PORT = 20_000
#: Holds the names of the ports that this process has given away.
_RESERVED: list[socket.socket] = []


class MissingServer(Exception):
    """The server's program is not installed; the sentence says what to install."""


class ServerFailed(Exception):
    """A server did not come up; the sentence ends with the last lines of its log."""


class Server(ABC):
    """A server process of our own.

    ``stop`` and ``launch`` may be called in turn: port and directory stay the same in between.
    """

    #: The program, and the Debian package that holds it.
    program: ClassVar[str]
    package: ClassVar[str]
    #: What ends it in good order, and what ends it at once but lets it take its own children along.
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    crash_signal: ClassVar[signal.Signals] = signal.SIGKILL
    #: What being not ready yet looks like to a client.
    not_ready: ClassVar[tuple[type[Exception], ...]] = (OSError,)

    def __init__(self) -> None:
        self.binary = self.find()
        self.directory = Path(tempfile.mkdtemp(prefix=f"isotherm-{self.program}-"))
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            account = pwd.getpwnam("nobody")
            os.chown(self.directory, account.pw_uid, account.pw_gid)

    @classmethod
    def find(cls) -> Path:
        """Return where the program is.

        Raises:
            MissingServer: it is not installed.
        """
        found = shutil.which(cls.program)
        if not found:
            raise MissingServer(f"{cls.program} not found: run .ci/servers, or apt-get install {cls.package}")
        return Path(found)

    @classmethod
    def start(cls) -> Self:
        """Return a server that answers.

        Raises:
            MissingServer: the program is not installed.
            ServerFailed: it did not come up.
        """
        return cls()._started()

    def _started(self) -> Self:
        try:
            self.prepare()
            self._launch_on_free_port()
        except BaseException:
            self.close()
            raise
        return self

    def _launch_on_free_port(self) -> None:
        for tries_left in (2, 1, 0):
            self.port = free_port()
            try:
                self.launch()
            except ServerFailed:
                # Another process may have taken the port between our look and the server's bind.
                if not tries_left:
                    raise
            else:
                return

    def prepare(self) -> None:  # noqa: B027 (most servers have nothing to prepare)
        """Fill the directory before the first launch."""

    @abstractmethod
    def arguments(self) -> list[str]:
        """Return the command's arguments, made anew at each launch."""

    @abstractmethod
    def probe(self) -> None:
        """Ask the server something; raises one of ``not_ready`` until it answers."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients find the server, in the form its settings take."""

    def launch(self) -> None:
        """Start the process and wait until it answers.

        Raises:
            ServerFailed: it ended, or did not answer in time.
        """
        died_with_us = f"--pdeathsig={self.crash_signal.name.removeprefix('SIG')}"
        command = [*unprivileged(died_with_us), str(self.binary), *self.arguments()]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                start_new_session=True,
            )
        waiting = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(self.not_ready),
            wait=tenacity.wait_fixed(0.02),
            stop=tenacity.stop_after_delay(READY_SECONDS),
            reraise=True,
        )
        try:
            waiting(self._probe_living)
        except self.not_ready as error:
            self.stop()
            raise ServerFailed(f"{self.program} does not answer: {error}\n{self._log_tail()}") from error

    def _probe_living(self) -> None:
        try:
            self.probe()
        finally:
            # Also after an answer: it may have been another server's, which had taken the port.
            if not self.running:
                raise ServerFailed(f"{self.program} ended at once\n{self._log_tail()}")

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the server as last launched."""
        assert self.process is not None
        return self.process.pid

    def stop(self) -> None:
        """End the process in good order; harmless when it has ended already."""
        self._end(self.stop_signal)

    def crash(self) -> None:
        """End the process as a power cut would: nothing is saved, no client is told."""
        self._end(self.crash_signal)

    def restart(self) -> None:
        """Stop, and launch on the same port with the same directory."""
        self.stop()
        self.launch()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let the process hang: it takes connections and answers nothing.

        Of PostgreSQL only the part that takes new connections hangs.
        """
        os.kill(self.pid, signal.SIGSTOP)
        # The signal stops one thread after the other; this returns when the last one stands.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Stop for good and remove the directory."""
        try:
            self.stop()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def _log(self) -> Path:
        return self.directory / "server.log"

    def _log_tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])


def free_port() -> int:
    """Return a port that nobody listens on, and that no other test is given as long as this process lives.

    It is none of those that the system gives to whoever asks for any, or connects: a server that was stopped finds its
    port free when it is launched again.
    """
    first_of_system = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = _FIRST_PORT + secrets.randbelow(max(first_of_system - _FIRST_PORT, 10_000))
        if _reserve(port):
            return port


def _reserve(port: int) -> bool:
    # The name is in no file system, and gone with this process.
    reserved = socket.socket(socket.AF_UNIX)
    try:
        reserved.bind(f"\0isotherm-test-port-{port}")
        with socket.socket() as probe:
            probe.bind((HOST, port))
    except OSError:
        reserved.close()
        return False
    _RESERVED.append(reserved)
    return True


def unprivileged(*options: str) -> Sequence[str]:
    """Return a command prefix under which a program runs as nobody where we are root.

    PostgreSQL and memcached refuse to run as root. ``setpriv`` is part of util-linux, so it is always there,
    and it sets the parent-death signal after the change of user, which would clear it.
    """
    if os.geteuid() != 0:
        return ["setpriv", *options, "--"] if options else []
    account = pwd.getpwnam("nobody")
    return [
        "setpriv",
        f"--reuid={account.pw_uid}",
        f"--regid={account.pw_gid}",
        "--clear-groups",
        *options,
        "--",
    ]
