"""Origins of plugins: package and version."""

from collections.abc import Mapping
from typing import Final

from hooks.loading.index import entry_points

#: The package that contains a plugin, its version, and the ``target``: the module and the name in it.
Origin = Mapping[str, str]

#: The origin of a plugin that no installed package declares.
UNKNOWN_ORIGIN: Final[Origin] = {"package": "", "version": "", "target": ""}


def origins(namespace: str) -> Mapping[str, Origin]:
    """Return the origins of the plugins in a group of entry points, by name.

    Of several packages with the same class under the same name, the first in alphabetical order counts.
    """
    found = [
        (entry.name, entry.dist.name, entry.dist.version, entry.value)
        for entry in entry_points(group=namespace)
        if entry.dist is not None
    ]
    return {
        name: {"package": package, "version": version, "target": target}
        for name, package, version, target in sorted(found, reverse=True)
    }
