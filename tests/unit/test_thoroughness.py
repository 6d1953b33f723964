"""What ordinary runs leave out, several of them look at together, and thorough runs look at everything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import thoroughness

ROOT = Path(__file__).parents[2]
PROFILE = """\
import hypothesis, tests.conftest
from tests.thoroughness import examples, is_thorough, some_of
print(is_thorough(), hypothesis.settings().max_examples, examples(4), list(some_of(range(6), 3)))
"""


def test_every_instant_is_looked_at_by_some_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thoroughness, "is_thorough", lambda: False)
    runs = []
    for first in range(3):
        monkeypatch.setattr("random.randrange", lambda _, first=first: first)
        runs.append(list(thoroughness.some_of(range(7), 3)))
    assert runs == [[0, 3, 6], [1, 4], [2, 5]]
    assert thoroughness.examples(4) == 4


def test_a_variable_makes_a_run_thorough() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROFILE],
        cwd=ROOT,
        env={**os.environ, thoroughness.VARIABLE: "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True 500 100 [0, 1, 2, 3, 4, 5]\n"
