"""The program ``isotherm``, started in a fraction of the time: forked from a process that has imported it already.

For tests of what short commands do, of which there are hundreds, and of what coordinators, workers and agents do once
they run; those of how a process starts use the program itself. A command still has a process of its own, with its own
environment, directory, streams, children and exit code; whoever ends the client ends it too.
"""

import array
import atexit
import gc
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[1]
#: What stays running is started by the client as everybody starts it; :func:`start` makes it quickly.
LASTING = ("worker", "coordinator", "agent", "dashboard", "api")

#: Runs in a bare interpreter. A terminal wants the real thing.
CLIENT = """\
#!{python} -IS
import array, json, os, signal, socket, sys
words = sys.argv[1:]
if words[:1] and words[0] in {lasting!r} or any(os.isatty(number) for number in (0, 1, 2)):
    os.execv({program!r}, [{program!r}, *words])
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
said = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
streams = array.array("i", [0, 1, 2]).tobytes()
header = len(said).to_bytes(8, "big")
server.sendmsg([header], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
server.sendall(said)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: server.sendall(bytes([number])))
server.recv({pid_bytes})
said = server.recv({code_bytes})
code = int.from_bytes(said, "big", signed=True) if said else 70
os._exit(code if code >= 0 else 128 - code)
"""
#: What a client is told: first which process its command is, then how that ended, as a signed number.
PID_BYTES, CODE_BYTES = 4, 2


class WarmProcess(subprocess.Popen[str]):
    """A command that goes on: it, and no client of it, has the number ``pid``; what it writes is on its pipe.

    It is ended with whoever started it.
    """

    def __init__(self, words: Sequence[str], *, directory: Path, environment: Mapping[str, str]) -> None:
        self.args = ["isotherm", *words]
        self.returncode = None
        self.stdin = self.stderr = None
        reading, writing = os.pipe()
        self.stdout = os.fdopen(reading)
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(str(warm_program().with_name("socket")))
        with Path(os.devnull).open() as nothing:
            streams = array.array("i", [nothing.fileno(), writing, writing]).tobytes()
            said = json.dumps([list(words), str(directory), dict(environment)]).encode()
            header = len(said).to_bytes(8, "big")
            self._server.sendmsg([header], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
            self._server.sendall(said)
        os.close(writing)
        self.pid = int.from_bytes(self._server.recv(PID_BYTES), "big")
        assert self.pid, "the server has gone"

    def poll(self) -> int | None:
        """Return how it ended; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended, once it has; as of any child, its number is its own until then."""
        if self.returncode is None:
            readable, _, _ = select.select([self._server], [], [], timeout)
            if not readable:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            said = self._server.recv(CODE_BYTES)
            self.returncode = int.from_bytes(said, "big", signed=True) if said else -signal.SIGKILL
            # Its parent has buried it when it has hung up as well.
            self._server.shutdown(socket.SHUT_WR)
            self._server.recv(1)
            self._server.close()
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)


def start(words: Sequence[str], *, directory: Path, environment: Mapping[str, str]) -> WarmProcess:
    """Start a command that goes on, such as ``worker --name one``; what it complains of is on its pipe too."""
    return WarmProcess(words, directory=directory, environment=environment)


@cache
def warm_program() -> Path:
    """Return the path of the client, an executable called ``isotherm``; its server ends with this process."""
    directory = Path(tempfile.mkdtemp(prefix="isotherm-warm-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    address = str(directory / "socket")
    client = directory / "isotherm"
    program = str(Path(sys.executable).with_name("isotherm"))
    text = CLIENT.format(
        python=sys.executable,
        lasting=LASTING,
        program=program,
        address=address,
        pid_bytes=PID_BYTES,
        code_bytes=CODE_BYTES,
    )
    client.write_text(text)
    client.chmod(0o755)
    # It has nothing of ours: what it is given with each command is all that it knows.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ISOTHERM_")}
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.warm", address],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    atexit.register(server.kill)
    return client


def serve(address: str) -> None:
    """Carry out commands until the other end of standard input is closed."""
    import_all()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        readable, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in readable:
            return
        client, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            attend(client)
        client.close()


def import_all() -> None:
    """Import what commands use; nothing is read, looked up or connected yet."""
    import importlib
    from importlib.metadata import entry_points

    import orchestrator.cli.start
    import orchestrator.processes.embedded
    import orchestrator.queue.celery_app
    import orchestrator.service  # noqa: F401
    from orchestrator.cli.access import leaves
    from orchestrator.cli.main import isotherm

    leaves(isotherm)  # imports all commands
    groups = ("isotherm.workers", "isotherm.resources", "isotherm.clients", "isotherm.constraints")
    for group in (*groups, "isotherm.functions", "isotherm.node_rpcs", "isotherm.storage"):
        for entry in entry_points(group=group):
            importlib.import_module(entry.module)
    for name in (
        "billiard.popen_fork",
        "billiard.synchronize",
        "celery.app.amqp",
        "celery.app.log",
        "celery.app.routes",
        "celery.apps.worker",
        "celery.backends.base",
        "celery.beat",
        "celery.concurrency.prefork",
        "celery.concurrency.thread",
        "celery.events.state",
        "celery.fixups.django",
        "celery.loaders.app",
        "celery.utils.static",
        "celery.worker.autoscale",
        "celery.worker.components",
        "celery.worker.consumer",
        "celery.worker.consumer.delayed_delivery",
        "celery.worker.control",
        "flower.command",
        "kombu.transport.redis",
        "orchestrator.dashboard.app",
        "orchestrator.placement.planner",
        "workers.agent.hypervisors.process.instance",
        "psycopg",
        "redis",
        "pymemcache",
        "sqlalchemy.dialects.postgresql.psycopg",
        "alembic.command",
    ):
        with suppress(ImportError):
            importlib.import_module(name)


def attend(client: socket.socket) -> NoReturn:
    """Start the command that a client wants, pass signals on to it, and tell the client its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    header, ancillary, _, _ = client.recvmsg(8, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    streams = array.array("i", ancillary[0][2])
    said = bytearray()
    while len(said) < int.from_bytes(header, "big"):
        said += client.recv(1 << 20)
    pid = os.fork()
    if pid == 0:
        client.close()
        carry_out(json.loads(said), list(streams))
    for stream in streams:
        os.close(stream)
    with suppress(OSError):
        client.send(pid.to_bytes(PID_BYTES, "big"))
    end = os.pidfd_open(pid)
    while True:
        readable, _, _ = select.select([end, client.fileno()], [], [])
        if end in readable:
            break
        number = client.recv(1)
        os.kill(pid, number[0] if number else signal.SIGKILL)
        if not number:
            os._exit(0)
    tell_end(client, pid)
    os._exit(0)


def tell_end(client: socket.socket, pid: int) -> None:
    """Tell a client how its command ended; nobody else has the command's number before the client knows."""
    found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert found is not None
    code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
    with suppress(OSError):
        client.send(code.to_bytes(CODE_BYTES, "big", signed=True))
        while client.recv(1):
            pass
    os.waitpid(pid, 0)


def carry_out(said: list[Any], streams: list[int]) -> NoReturn:
    """Become the command."""
    words, directory, environment = said
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    sys.argv = ["isotherm", *words]
    from orchestrator.cli.start import main

    code: Any = 0
    try:
        main()
    except SystemExit as error:
        code = error.code
    except BaseException:  # noqa: BLE001  # what the interpreter would do with it
        sys.excepthook(*sys.exc_info())
        code = 1
    # The interpreter's own end takes all that was imported to pieces, which takes longer than most commands do.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for written in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            written.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    serve(sys.argv[1])
