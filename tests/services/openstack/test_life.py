"""Every type lives its whole life in a stack: made, checked, updated, replaced, rolled back, adopted and deleted.

``--life-table`` prints what was done with each.
"""

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from isotherm.testing import ResourceConformance
from tests.services.openstack.cloud import CloudConformance
from tests.services.openstack.life import Life
from tests.services.openstack.outside import inside, outside
from tests.services.openstack.test_server import surroundings
from tests.services.openstack.test_web_image import address

__all__ = ["address", "inside", "outside", "surroundings"]

#: One of each service, and of each way to find an object again after a crash. All others are for a cloud that is named:
#: a run that starts its own has two minutes for it.
IN_EVERY_RUN = frozenset(
    {"TestVolume", "TestVolumeType", "TestRegion", "TestService", "TestServerGroup", "TestQoSSpecs"}
)


def conformances(base: type[ResourceConformance]) -> Iterator[type[ResourceConformance]]:
    """Yield the classes of tests of installed types."""
    for each in base.__subclasses__():
        if (
            each.__name__.startswith("Test")
            and getattr(each, "lives", True)
            and getattr(each, "__test__", True)
        ):
            yield each
        yield from conformances(each)


def living(kind: type[ResourceConformance]) -> type[ResourceConformance]:
    """Return a class of one test, with the fixtures of another."""

    def test_it_ends_as_it_was_wanted_and_leaves_nothing(
        self: Any, record_property: Callable[[str, object], None]
    ) -> None:
        with self._engine() as engine:
            life = Life(self, engine)
            try:
                life.live()
            finally:
                life.end()
                record_property("life", json.dumps([self._type_name, life.stages, life.claims]))

    members: dict[str, Any] = {name: None for name in dir(kind) if name.startswith("test_")}
    members["test_it_ends_as_it_was_wanted_and_leaves_nothing"] = (
        test_it_ends_as_it_was_wanted_and_leaves_nothing
    )
    if issubclass(kind, CloudConformance):
        members["pytestmark"] = [pytest.mark.devcloud(every_run=kind.__name__ in IN_EVERY_RUN)]
    module = kind.__module__.rpartition(".test_")[2]
    return type(
        f"{kind.__name__}Of{module.title().replace('_', '')}", (kind,), {**members, "__module__": __name__}
    )


for file in sorted(Path(__file__).parent.glob("test_*.py")):
    if file != Path(__file__):
        import_module(f"tests.services.openstack.{file.stem}")
for found in list(dict.fromkeys(conformances(ResourceConformance))):
    if found.__module__.startswith("tests.services.openstack."):
        made = living(found)
        globals()[made.__name__] = made
