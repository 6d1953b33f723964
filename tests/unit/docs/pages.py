"""The documentation as tests read it: blocks with marks, commands with what they are said to write.

Behind a block's language its marks say what a test does with it:

``embedded``     run, in the order of the page, in a state directory of the page's own
``distributed``  run, in the order of the page, with real servers; with ``processes`` each line stays running
``checked``      not run: whatever a line names must exist
``file=NAME``    written to that file, where the page's commands run
``exit=N``       the last command of the block ends with that code, and what it complains about is shown
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from tests import keys
from tests.warm import start, warm_program

ROOT = Path(__file__).parents[3]
#: Every page whose commands are run.
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
#: Languages whose blocks are commands.
SHELLS = frozenset({"sh", "bash", "shell", "console"})

#: What differs from run to run, and what stands for it.
_DIFFERS = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    # A stack of no work at all may be complete before anybody looked.
    (re.compile(r"(_COMPLETE) after [\d.]+ m?s"), r"\1"),
    (re.compile(r"(?<=pid)( +)\d+$", re.MULTILINE), " <pid>"),
    # Not every random text has a digit.
    (re.compile(r"\b(?=\w*[A-Z\d])(?=\w*[a-z])\w{24,}\b"), "<secret>"),
    (re.compile(r" +(?=\S)(?<!\n )"), " "),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command, and the lines that the page shows below it."""

    command: str
    shown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block."""

    page: Path
    line: int
    language: str
    marks: tuple[str, ...]
    text: str

    @property
    def place(self) -> str:
        """Where to find it."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def mark(self, name: str) -> str | None:
        """Return the value of a mark ``name=value``; None if the block has none."""
        values = [mark.removeprefix(f"{name}=") for mark in self.marks if mark.startswith(f"{name}=")]
        return values[0] if values else None

    @property
    def steps(self) -> list[Step]:
        """The block's commands; a line that ends with a backslash goes on."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language != "console":
            return [Step(command=line) for line in lines if line and not line.startswith("#")]
        starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
        assert starts[:1] == [0], f"{self.place}: a console block begins with a command"
        ends = [*starts[1:], len(lines)]
        return [
            Step(command=lines[start].removeprefix("$ "), shown="\n".join(lines[start + 1 : end]))
            for start, end in zip(starts, ends, strict=True)
        ]


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    found = []
    for token in MarkdownIt().parse(page.read_text()):
        if token.type == "fence":
            language, *marks = token.info.split() or [""]
            assert token.map is not None
            found.append(
                Block(
                    page=page,
                    line=token.map[0] + 1,
                    language=language,
                    marks=tuple(marks),
                    text=token.content,
                )
            )
    return found


def written_commands(page: Path, program: str) -> Iterator[str]:
    """Yield every use of ``program`` in the code of a page, in blocks and within sentences."""
    for token in MarkdownIt().enable("table").parse(page.read_text()):
        parts = [token, *(token.children or ())]
        for part in parts:
            # `from isotherm import ...` is no command.
            is_python = part.info.split()[:1] == ["python"]
            if part.type in ("fence", "code_block", "code_inline") and not is_python:
                for line in part.content.replace("\\\n", " ").splitlines():
                    found = re.search(rf"(?:^|[\s($]){program} (?P<words>.*)", line)
                    if found:
                        yield f"{program} {found['words']}"


def normal(text: str) -> str:
    """Return text in which everything that differs from run to run, and the width of columns, is the same."""
    lines = (line.rstrip() for line in text.strip().splitlines())
    text = "\n".join(lines)
    for pattern, replacement in _DIFFERS:
        text = pattern.sub(replacement, text)
    return text


class Session:
    """Somebody who follows a page: a directory, an environment, and what he has typed so far."""

    def __init__(self, directory: Path, *, replaced: Mapping[str, str] | None = None) -> None:
        """Follow in ``directory``; ``replaced`` says what to write instead of the page's addresses."""
        self.directory = directory
        self.replaced = dict(replaced or {})
        warm, binaries = str(warm_program().parent), str(Path(sys.executable).parent)
        self.environment = {
            **keys.others(),
            "PATH": os.pathsep.join([warm, binaries, os.environ["PATH"]]),
            "ISOTHERM_STATE_DIRECTORY": str(directory / "state"),
            "ISOTHERM_LOG_LEVEL": "INFO",
        }

    def write(self, block: Block) -> None:
        """Write a ``file=`` block."""
        name = block.mark("file")
        assert name is not None
        (self.directory / name).write_text(block.text)

    def type_in(self, block: Block) -> None:
        """Run the commands of a block and compare what they write with what the page shows."""
        steps = block.steps
        for step in steps:
            code = int(block.mark("exit") or 0) if step is steps[-1] else 0
            self._run(step, code, block)

    def _run(self, step: Step, code: int, block: Block) -> None:
        command = self._with_our_addresses(step.command)
        # What a command exports, the next one finds.
        kept = self.directory / ".environment"
        done = subprocess.run(
            ["bash", "-c", f"{command}\ncode=$?; env -0 >'{kept}'; exit $code"],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        self.environment = dict(line.split("=", 1) for line in kept.read_text().split("\0") if line)
        said = f"{block.place}: $ {command}\n{done.stdout}{done.stderr}"
        assert done.returncode == code, said
        if block.language == "console":
            written = done.stdout + (done.stderr if code else "")
            assert normal(written) == normal(self._with_our_addresses(step.shown)), said

    def start(self, command: str) -> "subprocess.Popen[str]":
        """Start a command that stays running, as everybody does; what it logs is its output."""
        return subprocess.Popen(
            shlex.split(self._with_our_addresses(command)),
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def start_quickly(self, command: str) -> "subprocess.Popen[str]":
        """Start one of our commands that stays running, where how it starts is not in question."""
        _, *words = shlex.split(self._with_our_addresses(command))
        return start(words, directory=self.directory, environment=self.environment)

    def _with_our_addresses(self, text: str) -> str:
        for theirs, ours in self.replaced.items():
            text = text.replace(theirs, ours)
        return text
