"""Base of the types of the block storage service."""

from collections.abc import Mapping
from typing import Any

from workers.resources.openstack.cloud_object import CloudObject
from workers.resources.openstack.collection import Collection

VOLUMES = Collection(path="/volumes", key="volume", plural="volumes", details="/volumes/detail")
SNAPSHOTS = Collection(path="/snapshots", key="snapshot", plural="snapshots", details="/snapshots/detail")
BACKUPS = Collection(path="/backups", key="backup", plural="backups", details="/backups/detail")
VOLUME_TYPES = Collection(path="/types", key="volume_type", plural="volume_types")


def as_texts(given: Mapping[str, Any] | None) -> dict[str, str]:
    """Return a map of texts, which is what the service keeps as metadata."""
    return {name: value if isinstance(value, str) else str(value) for name, value in (given or {}).items()}


def texts_as_given(given: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, Any]:
    """Return metadata as it was found, with the values as they are given where their texts are the same."""
    wanted = as_texts(given)
    return {name: given[name] if wanted.get(name) == text else text for name, text in found.items()}


class CinderObject(CloudObject):
    """An object of the block storage service."""

    client_name = "cinder"
