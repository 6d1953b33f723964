"""Examples that say that they need nothing but Python are read by a Python with nothing else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.docs.pages import ROOT

EXAMPLES = sorted(
    path for path in (ROOT / "examples").rglob("*.py") if "nothing but Python" in path.read_text()
)
READ = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='example')"


def test_there_are_such_examples() -> None:
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.parent.name)
def test_an_example_that_needs_nothing_but_python_finds_all_it_imports(example: Path) -> None:
    # Without site-packages, the current directory and variables.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", READ, str(example)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_program_of_the_docs_that_names_its_needs_is_run_with_only_those() -> None:
    """The tests of these pages make the environment by the page's own commands (``tests/services/fresh.py``)."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("README.md"), ROOT / "README.md"]
    making = {page for page in pages if "-m venv" in page.read_text()}
    assert making == {ROOT / "docs" / "queue.md", ROOT / "examples" / "events" / "README.md"}
    # A sentence about packages that are needed has commands below it.
    claims = re.compile(r"needs `[a-z]+(\[[a-z]+\])?` (and|\()")
    assert {page for page in pages if claims.search(page.read_text())} <= making
