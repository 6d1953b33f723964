"""Existence in an OpenStack cloud, by id or name: the client ``openstack`` must find exactly one."""

from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.custom import ClientConstraint


class _InTheCloud(ClientConstraint):
    client = "openstack"


class NovaFlavor(_InTheCloud):
    """A flavor of servers that the user may see."""

    name = "nova.flavor"
    entity = "flavor"


class NovaKeypair(_InTheCloud):
    """A key pair of the user who logs in, by its name. Empty text is no key pair, and is right."""

    name = "nova.keypair"
    entity = "keypair"

    def fault(self, value: object) -> str | None:
        """Return the fault of a name as it is written; empty text is valid, as templates use it for "without a key"."""
        return None if value == "" else super().fault(value)

    def fault_by(self, value: object, clients: NamedClients) -> str | None:
        """Return the fault of a name that the cloud does not have."""
        return None if value == "" else super().fault_by(value, clients)


class NovaServer(_InTheCloud):
    """A server; by name, one of the user's project."""

    name = "nova.server"
    entity = "server"


class GlanceImage(_InTheCloud):
    """An image. A hidden one is found by its name only where no other has it."""

    name = "glance.image"
    entity = "image"


class NeutronNetwork(_InTheCloud):
    """A network, one's own or one that is shared."""

    name = "neutron.network"
    entity = "network"


class NeutronSubnet(_InTheCloud):
    """A subnet."""

    name = "neutron.subnet"
    entity = "subnet"


class NeutronPort(_InTheCloud):
    """A port."""

    name = "neutron.port"
    entity = "port"


class NeutronRouter(_InTheCloud):
    """A router."""

    name = "neutron.router"
    entity = "router"


class NeutronSecurityGroup(_InTheCloud):
    """A security group."""

    name = "neutron.security_group"
    entity = "security group"


class CinderVolume(_InTheCloud):
    """A volume."""

    name = "cinder.volume"
    entity = "volume"


class CinderSnapshot(_InTheCloud):
    """A snapshot of a volume."""

    name = "cinder.snapshot"
    entity = "volume snapshot"


class CinderVolumeType(_InTheCloud):
    """A type of volumes."""

    name = "cinder.vtype"
    entity = "volume type"


class KeystoneProject(_InTheCloud):
    """A project; ``name{domain}`` is the one of that name in a domain."""

    name = "keystone.project"
    entity = "project"


class KeystoneUser(_InTheCloud):
    """A user; ``name{domain}`` is the one of that name in a domain."""

    name = "keystone.user"
    entity = "user"


class KeystoneRole(_InTheCloud):
    """A role; ``name{domain}`` is the one of that name in a domain."""

    name = "keystone.role"
    entity = "role"
