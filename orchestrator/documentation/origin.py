"""Origins of plugins: package and version."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The package that contains a plugin."""

    package: str
    version: str
    #: The module and the name in it, such as ``acme.mail:Sink``.
    target: str

    def to_dict(self) -> dict[str, str]:
        """Return plain types."""
        return asdict(self)


#: The origin of a plugin that no installed package declares.
UNKNOWN_ORIGIN: Final = Origin(package="", version="", target="")


def origins(namespace: str) -> Mapping[str, Origin]:
    """Return the origins of the plugins in a group of entry points, by name.

    Of several packages with the same class under the same name, the first in alphabetical order counts.
    """
    found = [
        (entry.name, Origin(package=entry.dist.name, version=entry.dist.version, target=entry.value))
        for entry in entry_points(group=namespace)
        if entry.dist is not None
    ]
    found.sort(key=lambda pair: (pair[0], pair[1].package, pair[1].version), reverse=True)
    return dict(found)
