"""The openstack client with python-heatclient, unmodified, in the environment that ``make test`` makes for it.

All commands are given to one process of the client, which would need two seconds to start for each.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.waiting import until

#: Where `make test` installs the clients.
PYTHON = Path(sys.prefix) / "clients" / "bin" / "python"
PROGRAM = """
import contextlib, io, json, sys
from openstackclient import shell
for line in sys.stdin:
    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        code = shell.main(json.loads(line))
    print(json.dumps([code, said.getvalue(), complained.getvalue()]), flush=True)
"""


class Said(NamedTuple):
    code: int
    out: str
    err: str


class Openstack:
    """The client in a directory, with what logs it in; the test is skipped where it is not installed."""

    def __init__(self, directory: Path, *login: str, **environment: str) -> None:
        if not PYTHON.exists():
            assert not os.environ.get("CI"), f"{PYTHON} is missing: run make test"
            pytest.skip("the clients of OpenStack are not installed: run make test")
        self._login, self.directory = login, directory
        self._environment = {name: each for name, each in os.environ.items() if not name.startswith("OS_")}
        self._environment |= environment
        self._process = self._started("-c", PROGRAM)

    def _started(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(PYTHON), *words],
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment,
        )

    @contextmanager
    def following(self, *words: str) -> Iterator[Iterable[str]]:
        """Yield the lines that a command writes in a process of its own, which is interrupted at the end."""
        process = self._started(str(PYTHON.parent / "openstack"), *self._login, *words)
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()

    def close(self) -> None:
        self._process.communicate()

    def type(self, *words: str) -> Said:
        """Return what a command ends with, whatever it is."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps([*self._login, *words])}\n")
        self._process.stdin.flush()
        return Said(*json.loads(self._process.stdout.readline()))

    def run(self, *words: str) -> str:
        """Return what a command writes that does what it should."""
        said = self.type(*words)
        assert (said.code, said.err) == (0, ""), f"openstack {' '.join(words)}: {said}"
        return said.out

    def data(self, *words: str) -> Any:
        """Return the JSON that a command writes."""
        return json.loads(self.run(*words, "-f", "json"))

    def refusal(self, *words: str) -> str:
        """Return why a command is refused."""
        said = self.type(*words)
        assert said.code != 0, said
        return said.err

    def wait(self, stack: str, state: str) -> None:
        """Return once a stack has a state; it must not come to rest in another."""

        def rests() -> str | None:
            found: str = self.data("stack", "show", stack, "-c", "stack_status")["stack_status"]
            return None if found.endswith("IN_PROGRESS") else found

        found = until(rests)
        assert found == state, (stack, found)
