"""Jobs that a coordinator process is sent in a test, and their answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from orchestrator import tasks
from orchestrator.config.settings import Settings
from orchestrator.keys.key import JOB
from orchestrator.model.messages import (
    CheckOrder,
)
from orchestrator.plugins.resource import Resource
from orchestrator.processes.runtime import Runtime
from orchestrator.store.stacks.stacks import JobRow

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {it: {type: Test}}"


class Broken(Resource):
    """A type whose author did not foresee something."""

    error: ClassVar[Exception] = ZeroDivisionError("division by zero")

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Raise what is no PropertyError."""
        raise cls.error


class Silent:
    """A publisher to nobody."""

    def publish(self, orders: Sequence[CheckOrder]) -> None:
        """Drop them: the sweep would publish them again."""

    def backlog(self) -> None:
        """Nobody can tell."""


def runtime_in(directory: Path) -> Runtime:
    runtime = Runtime(Settings(state_directory=directory), Silent(), kind="coordinator")
    runtime.types = {"Test": Broken}
    return runtime


def carry_out(task: str, job: Mapping[str, Any], *, user: str = "") -> None:
    """Do what the coordinators do about a message that is signed with the installation's own key, or with a user's."""
    accept(task, job, user=user)
    tasks.begin_next()


def accept(task: str, job: Mapping[str, Any], *, user: str = "") -> None:
    """Record the job of such a message."""
    of_test: Any = tasks
    ring = of_test.default_app().keys()
    key = next(key for key in ring if key.use == JOB and key.user == user)
    tasks.accept(task, job, "message", signed_by=key.id)


def answer(runtime: Runtime, job_id: str) -> JobRow:
    row = runtime.store.stacks.job(job_id)
    assert row is not None
    return row
