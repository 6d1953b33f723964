"""A resource type that makes nothing and demands that something exists in an HTTP API, as others might bring it.

Its processes are told of it by an entry point, in a directory that is on their path.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import Property, PropertyType
from workers.resources.core.row import RowResource

TYPE: Final = "Test::Demanding"
#: What most stacks of these demand.
NAMES: Final = ("alpine", "cirros", "debian")


class Demanding(RowResource):
    """Has one property, the path of an image."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "image": Property(type=PropertyType.STRING, required=True, constraints=(Custom("http.exists"),))
    }


def install(directory: Path) -> Path:
    """Write an entry point for the type into a directory that is not there yet; return the directory."""
    metadata = directory / "demanding-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: demanding\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[isotherm.resources]\n{TYPE} = {__name__}:Demanding\n")
    return directory


def path_of(name: str) -> str:
    """Return where an image is in the API."""
    return f"/images/{name}"


def template(number: int, names: Sequence[str] = NAMES) -> str:
    """Return a template of so many resources, which demand these images in turn."""
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    for index in range(number):
        image = path_of(names[index % len(names)])
        lines.append(f"  r{index}: {{type: '{TYPE}', properties: {{image: {image}}}}}")
    return "\n".join([*lines, ""])
