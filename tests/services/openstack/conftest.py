"""What the tests of a process made for all of them is taken away at their end."""

from collections.abc import Iterator

import pytest

from tests.services.openstack.cloud import give_up_place


@pytest.fixture(scope="session", autouse=True)
def _place() -> Iterator[None]:
    yield
    give_up_place()
