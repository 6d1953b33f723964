"""One database with a stack in it, for all tests of the dashboard in a process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service

TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  word: {type: string, default: told-to-nobody}
resources:
  one: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
outputs:
  word: {value: {get_attr: [one, output]}}
"""


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings with a database of their own, and no broker."""
    directory: Path = tmp_path_factory.mktemp("dashboard")
    return Settings(state_directory=directory)


@pytest.fixture(scope="session")
def service(settings: Settings) -> Iterator[Service]:
    """A service that does the work itself; the stack ``web`` is complete."""
    with Service.open(settings) as service:
        made = service.create(StackJob(name="web", template=TEMPLATE))
        assert list(service.watch(made.id))[-1].stack.status == "COMPLETE"
        yield service


@pytest.fixture(scope="session")
def distributed(settings: Settings) -> Settings:
    """Settings with the same database and a broker that nobody listens to."""
    url = settings.effective_database_url
    return settings.with_values(broker_url="memory://", database_url=url)
