"""Fixtures of node resources."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.plugins.steps import ResourceState
from tests.unit.workers.resources.nodes.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine on which nothing runs afterwards."""
    machine = Machine.at(tmp_path)
    yield machine
    machine.kill_everything()


@pytest.fixture
def state() -> ResourceState:
    """The row of a resource that was not touched yet."""
    return ResourceState(uuid=f"row-{os.getpid()}")
