"""No type of OpenStack ships that is not tried on a cloud."""

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from isotherm.testing import ResourceConformance


def tried(conformance: type[object]) -> Iterator[type]:
    """Yield the types that classes of tests are about, and those that these are derived from."""
    each: type[object]
    for each in conformance.__subclasses__():
        kind = getattr(each, "type", None)
        yield from kind.__mro__ if isinstance(kind, type) else ()
        yield from tried(each)


def test_every_type_has_the_tests_of_the_contract() -> None:
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        import_module(f"tests.services.openstack.{file.stem}")
    found = set(tried(ResourceConformance))
    installed = {
        entry.name: entry.load()
        for entry in entry_points(group="isotherm.resources")
        if ".openstack." in entry.value
    }
    assert len(installed) > 40
    assert sorted(name for name, kind in installed.items() if kind not in found) == []
