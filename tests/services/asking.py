"""An installation whose resources ask an HTTP API whether what they demand exists; nothing here needs pytest."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import keys
from tests.services.demanding import install
from tests.waiting import PATIENCE_SECONDS
from tests.warm import LASTING, start, warm_program

ROOT = Path(__file__).parents[2]


#: Options of the client ``http`` with which no answer comes too late on a machine that is busy, and none is asked for
#: twice.
PATIENT = {"connect_seconds": 60, "read_seconds": 60, "total_seconds": 90}
#: With these settings no server of a cache is given up for being slow, nor an answer for being old.
CACHE = {
    "expiration_seconds": 3_600,
    "lock_seconds": PATIENCE_SECONDS,
    "arguments": {"timeout_seconds": PATIENCE_SECONDS},
}


class Asking:
    """The processes and commands of one installation, each with the same settings."""

    def __init__(self, directory: Path, *, clients: Mapping[str, Any], **settings: Any) -> None:
        """Prepare; nothing is started. ``clients`` are the options of client plugins, by their names."""
        self.directory = directory
        package = install(directory / "site")
        given = {"clients": clients, "state_directory": directory / "state", "log_level": "INFO", **settings}
        self.environment = {
            **keys.others(),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(package)]),
            # stevedore remembers entry points in files, by the path.
            "XDG_CACHE_HOME": str(directory / "cache"),
            **{f"ISOTHERM_{name.upper()}": _text(value) for name, value in given.items()},
        }

    def write(self, name: str, text: str) -> str:
        """Write a file into the directory where the commands are given; return its name."""
        (self.directory / name).write_text(text)
        return name

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start one of our commands; what it writes is on its pipe."""
        if words[0] in LASTING:
            return start(words, directory=self.directory, environment=self.environment)
        return subprocess.Popen(
            [str(warm_program()), *words],
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Give one of our commands, and wait for its end; ``environment`` goes before the installation's."""
        return subprocess.run(
            [str(warm_program()), *words],
            cwd=self.directory,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def start_asker(self, threads: int) -> "subprocess.Popen[str]":
        """Start a process of many who ask the same (:mod:`tests.services.asker`)."""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.services.asker", str(threads)],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, (Mapping, list, bool)) else str(value)
