"""Coordinators and workers as real processes, started as a person starts them."""

import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import psutil

#: How long a process may take to say that it is ready, and to end. On an idle machine, one whose broker went away in
#: between takes half a minute: Celery's child processes wait so long for a receipt that was lost with the connection.
READY_SECONDS = 300.0
STOP_SECONDS = 300.0


class EngineProcess:
    """A process that logs on a pipe: its log is kept, and a thread waits for the word that it is ready."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        #: The exit code of an end in good order, or of the one it was given.
        self.expected_code = 0
        self._lines: list[str] = []
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_until_ready(self) -> None:
        """Return when the process takes work; fails when it ended instead, or takes too long."""
        said = self._ready.wait(READY_SECONDS)
        assert said, f"not ready in time:\n{self.log}"
        assert self.process.poll() is None, f"ended with {self.process.returncode}:\n{self.log}"

    @property
    def log(self) -> str:
        """What the process has written so far."""
        return "".join(self._lines)

    def kill(self) -> None:
        """End the process and all that it started, as a power cut would; return when they are gone."""
        self.expected_code = -signal.SIGKILL
        self._kill_family()
        self.wait()

    def kill_alone(self) -> list[psutil.Process]:
        """End the process and nothing else, as the kernel does that runs out of memory; return its children."""
        self.expected_code = -signal.SIGKILL
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        return children

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Let the process and its children do nothing meanwhile."""
        parent = psutil.Process(self.process.pid)
        family = [parent, *parent.children(recursive=True)]
        for process in family:
            process.suspend()
        try:
            yield
        finally:
            for process in family:
                process.resume()

    def wait(self) -> int:
        """Return the exit code of a process that was asked to end; kill it and its children if it does not."""
        try:
            return self.process.wait(STOP_SECONDS)
        finally:
            if self.process.poll() is None:
                self._kill_family()
                self.process.wait()
            self._reader.join()

    def _kill_family(self) -> None:
        children = psutil.Process(self.process.pid).children(recursive=True)
        # The root first: it would start another child in a dead one's place.
        self.process.kill()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, STOP_SECONDS)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.append(line)
            if line.rstrip().endswith(" ready."):
                self._ready.set()
        # Nobody needs to wait for a process that has ended.
        self._ready.set()
        self.process.stdout.close()


@contextmanager
def running(processes: Sequence["subprocess.Popen[str]"]) -> Iterator[list[EngineProcess]]:
    """Give processes that were just started once all of them take work; end those that live afterwards.

    Add to the list what else is to be ended; what ended otherwise than it should have fails the test.
    """
    engines = [EngineProcess(process) for process in processes]
    try:
        for engine in engines:
            engine.wait_until_ready()
        yield engines
    finally:
        for engine in engines:
            engine.process.terminate()
        codes = [engine.wait() for engine in engines]
    # A line of ours that Celery wrote another around is no line of ours any more.
    assert not [line for engine in engines for line in engine.log.splitlines() if "celery.redirected" in line]
    # Nor is there a banner, a warning of something that cannot happen, or a line for each turn of the clock.
    idle = ("celery@", "superuser", "due task", "coordinator.sweep", "node.watch")
    noise = [
        line for engine in engines for line in engine.log.splitlines() if any(map(line.__contains__, idle))
    ]
    assert not noise, noise
    expected = [engine.expected_code for engine in engines]
    assert codes == expected, "\n".join(engine.log for engine in engines)
