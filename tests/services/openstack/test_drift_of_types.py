"""Changes behind the engine's back, of each type of OpenStack, are found by observations and mended by repairs."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from isotherm.testing import ResourceConformance
from tests.drifting import Drifting
from tests.services.openstack.cloud import CloudConformance
from tests.services.openstack.outside import inside, outside
from tests.services.openstack.tampering import TAMPERING
from tests.services.openstack.test_life import conformances
from tests.services.openstack.test_server import surroundings
from tests.services.openstack.test_web_image import address

__all__ = ["address", "inside", "outside", "surroundings"]

#: One of each service: the other types are for a cloud that is named.
IN_EVERY_RUN = frozenset({"TestNet", "TestVolumeType", "TestRegion", "TestHostAggregate"})


def drifting(kind: type[ResourceConformance]) -> type[ResourceConformance]:
    """Return a class of one test, with the fixtures of another."""

    def test_changes_behind_the_engines_back_are_found_and_repaired(self: Any) -> None:
        with self._engine() as engine:
            drift = Drifting(self, engine, TAMPERING[self._type_name])
            try:
                drift.live()
            finally:
                drift.end()

    members: dict[str, Any] = {name: None for name in dir(kind) if name.startswith("test_")}
    members["test_changes_behind_the_engines_back_are_found_and_repaired"] = (
        test_changes_behind_the_engines_back_are_found_and_repaired
    )
    # It is no type of its own for those who look for them.
    members["lives"] = False
    if issubclass(kind, CloudConformance):
        members["pytestmark"] = [pytest.mark.devcloud(every_run=kind.__name__ in IN_EVERY_RUN)]
    module = kind.__module__.rpartition(".test_")[2]
    return type(
        f"{kind.__name__}Of{module.title().replace('_', '')}", (kind,), {**members, "__module__": __name__}
    )


for file in sorted(Path(__file__).parent.glob("test_*.py")):
    if file.stem not in ("test_life", Path(__file__).stem):
        import_module(f"tests.services.openstack.{file.stem}")
for found in list(dict.fromkeys(conformances(ResourceConformance))):
    if found.__module__.startswith("tests.services.openstack.") and found.__module__ not in (
        __name__,
        "tests.services.openstack.test_life",
    ):
        made = drifting(found)
        globals()[made.__name__] = made
