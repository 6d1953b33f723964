"""Base of the types of the compute service."""

from workers.resources.openstack.cloud_object import CloudObject


class NovaObject(CloudObject):
    """An object of the compute service, which keeps no descriptions."""

    client_name = "nova"
    has_description = False
