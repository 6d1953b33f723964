"""Base of the types of the block storage service."""

from workers.resources.openstack.cloud_object import CloudObject
from workers.resources.openstack.collection import Collection

VOLUMES = Collection(path="/volumes", key="volume", plural="volumes", details="/volumes/detail")
SNAPSHOTS = Collection(path="/snapshots", key="snapshot", plural="snapshots", details="/snapshots/detail")
BACKUPS = Collection(path="/backups", key="backup", plural="backups", details="/backups/detail")
VOLUME_TYPES = Collection(path="/types", key="volume_type", plural="volume_types")


class CinderObject(CloudObject):
    """An object of the block storage service."""

    client_name = "cinder"
