"""Mutants: small faults in the engine's core. As a plugin of pytest, it records how long each test that passed took."""

import json
import math
import os
from collections import defaultdict
from pathlib import Path

import pytest

_seconds: defaultdict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the phases of a test."""
    _seconds[report.nodeid] += report.duration if report.passed else math.inf


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the file that ``DURATIONS`` names, in the process that all reports come to."""
    if not hasattr(session.config, "workerinput"):
        passed = {test: seconds for test, seconds in _seconds.items() if seconds < math.inf}
        Path(os.environ["DURATIONS"]).write_text(json.dumps(passed), encoding="utf-8")
