"""The API as a process, started as a person starts it."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.unit.docs.pages import Session

_SERVED = re.compile(r"The API is served at (\S+);")


@contextmanager
def serving(
    directory: Path, *options: str, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Serve the API on any port; give its address, without the project, and its process, and end it afterwards."""
    session = Session(directory)
    session.environment |= environment or {}
    process = session.start(f"isotherm api --port 0 {' '.join(options)}")
    try:
        yield _address(process), process
    finally:
        process.terminate()
        said, _ = process.communicate()
    assert process.returncode == 0, said
    assert "Traceback" not in said, said


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if found := _SERVED.match(line):
            return found[1]
    raise AssertionError(f"the API has ended:\n{''.join(said)}")
