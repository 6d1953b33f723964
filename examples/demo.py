"""The main job in one go: create a stack, look at what it made, delete it, and see that it is gone.

``make demo`` runs it. Nothing is needed but the installed package, and nothing is left behind: everything
happens in a temporary state directory. Each command is shown as it is typed, so that it can be repeated by hand.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import FrameType
from typing import Final
from urllib.parse import urlsplit

ROOT: Final = Path(__file__).resolve().parents[1]
#: The console script is installed beside the interpreter that runs this file.
PROGRAM: Final = Path(sys.executable).with_name("isotherm")
STACK: Final = "site"
GREETING: Final = "A stack brought this page here."
#: More than any step needs: the demo ends, whatever hangs.
PATIENCE_SECONDS: Final = 120.0


class NotAsItShouldBe(Exception):
    """Something is not as the demo promises; the sentence says what."""


class Terminated(BaseException):
    """Somebody asked this process to end; like Ctrl-C, it is no error to be caught on the way."""


def main() -> int:
    """Run the demo and return its exit code; the stack and the directory are gone afterwards in any case."""
    signal.signal(signal.SIGTERM, _terminate)
    with tempfile.TemporaryDirectory(prefix="isotherm-demo-") as directory:
        state = Path(directory)
        demo = Demo(state)
        try:
            demo.run()
        except NotAsItShouldBe as error:
            say(f"\nThe demo failed: {error}")
            return 1
        except (KeyboardInterrupt, Terminated) as stop:
            say("\nStopped; cleaning up.")
            return 130 if isinstance(stop, KeyboardInterrupt) else 143
        finally:
            demo.clean_up()
    say("\nAll of it worked, and nothing is left behind.")
    return 0


class Demo:
    """One run, in a state directory of its own."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._environment = environment(os.environ, state)
        self._deleted = False

    def run(self) -> None:
        """Create, look, delete, look again.

        Raises:
            NotAsItShouldBe: something is not as it should be.
        """
        say("A template is made real, in embedded mode: no server, no broker, one SQLite file.\n")
        say(f"$ export ISOTHERM_STATE_DIRECTORY={shlex.quote(str(self._state))}")
        port = free_port()
        template = "examples/site/site.yaml"
        parameters = [f"port={port}", "directory=site", f"greeting={GREETING}"]
        self._isotherm(
            *("stack", "create", STACK, "-t", template),
            *(word for parameter in parameters for word in ("-P", parameter)),
        )
        url = self._output("url")
        pid = int(self._output("pid"))
        say(f"\nThe page at {url} says:\n")
        page = text_of(fetch(url))
        say("".join(f"    {line}\n" for line in page))
        if GREETING not in page:
            raise NotAsItShouldBe(f"the page does not say {GREETING!r}")
        if not is_there(pid):
            raise NotAsItShouldBe(f"there is no process {pid}, which should serve the page")
        say(f"It is served by process {pid}, which outlives the command that started it.")
        self._isotherm("stack", "delete", STACK, "--yes")
        self._deleted = True
        self._look_again(url, pid)

    def clean_up(self) -> None:
        """Delete the stack if it may still be there; no signal stops this."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        if not self._deleted:
            # Exit code 2: there is no such stack, because it was never begun.
            result = self._run("stack", "delete", STACK, "--yes", quietly=True)
            if result.returncode not in (0, 2):
                say(f"The stack could not be deleted:\n{result.stdout}{result.stderr}")

    def _look_again(self, url: str, pid: int) -> None:
        if is_there(pid):
            raise NotAsItShouldBe(f"process {pid} is still there after the stack was deleted")
        if answers(url):
            raise NotAsItShouldBe(f"{url} still answers after the stack was deleted")
        left = sorted(str(path) for path in (self._state / "files").rglob("*"))
        if left:
            raise NotAsItShouldBe(f"files are left behind: {', '.join(left)}")
        listed = self._isotherm("stack", "list", "-f", "json", captured=True)
        if json.loads(listed) != []:
            raise NotAsItShouldBe("the stack is still listed after it was deleted")
        say(f"\nProcess {pid} is gone, {url} answers no more, and the files are removed.")

    def _output(self, key: str) -> str:
        shown = json.loads(self._isotherm("stack", "output", "show", STACK, key, "-f", "json", captured=True))
        if shown["value"] is None:
            raise NotAsItShouldBe(f"the output {key!r} has no value: {shown['error']}")
        return str(shown["value"])

    def _isotherm(self, *words: str, captured: bool = False) -> str:
        """Show a command and run it; return what it wrote if that is captured, which is then shown too."""
        say(f"\n$ {shlex.join(['isotherm', *words])}")
        result = self._run(*words, quietly=captured)
        if captured:
            say(result.stdout.rstrip())
        if result.returncode:
            raise NotAsItShouldBe(
                f"'isotherm {words[0]} {words[1]}' ended with {result.returncode}\n{result.stderr or ''}".rstrip()
            )
        return result.stdout or ""

    def _run(self, *words: str, quietly: bool) -> "subprocess.CompletedProcess[str]":
        try:
            return subprocess.run(  # noqa: S603 -- our own program, with words from this file
                [str(PROGRAM), *words],
                cwd=ROOT,
                env=self._environment,
                capture_output=quietly,
                text=True,
                check=False,
                timeout=PATIENCE_SECONDS,
            )
        except FileNotFoundError as error:
            raise NotAsItShouldBe(f"there is no {PROGRAM}: run 'make venv' first") from error
        except subprocess.TimeoutExpired as error:
            command = " ".join(words[:2])
            raise NotAsItShouldBe(f"'isotherm {command}' took more than {error.timeout:g} s") from error


def environment(given: Mapping[str, str], state: Path) -> dict[str, str]:
    """Return the environment of the commands: the given one, without any setting of another installation."""
    kept = {name: value for name, value in given.items() if not name.startswith("ISOTHERM_")}
    return {
        **kept,
        "ISOTHERM_STATE_DIRECTORY": str(state),
        # No isotherm.toml nearby is read.
        "ISOTHERM_CONFIG": os.devnull,
    }


def free_port() -> int:
    """Return a port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fetch(url: str) -> str:
    """Return the page at ``url``, asked for directly, without any proxy.

    Raises:
        NotAsItShouldBe: it does not answer, or not with a page.
    """
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection.request("GET", parts.path or "/")
        answer = connection.getresponse()
        body = answer.read().decode()
    except (OSError, HTTPException) as error:
        raise NotAsItShouldBe(f"{url} does not answer: {error}") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise NotAsItShouldBe(f"{url} answers with {answer.status}, expected 200")
    return body


def answers(url: str) -> bool:
    """Whether anything listens at ``url``."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname, parts.port or 80), timeout=10):
            return True
    except OSError:
        return False


def is_there(pid: int) -> bool:
    """Whether a process with this number exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class _Text(HTMLParser):
    """Collects the lines that a reader of the page sees."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._in_body = False

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 -- the base class's signature
        """Notice where the visible part begins."""
        self._in_body = self._in_body or tag == "body"

    def handle_data(self, data: str) -> None:
        """Take a piece of text."""
        if self._in_body and data.strip():
            self.lines.append(" ".join(data.split()))


def text_of(page: str) -> list[str]:
    """Return the visible lines of an HTML page."""
    parser = _Text()
    parser.feed(page)
    parser.close()
    return parser.lines


def say(text: str) -> None:
    """Write a line, at once: the commands write on the same terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


if __name__ == "__main__":
    sys.exit(main())
