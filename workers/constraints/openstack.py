"""Existence in an OpenStack cloud, by id or name: the client ``openstack`` must find exactly one."""

from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.custom import ClientConstraint


class _InTheCloud(ClientConstraint):
    client = "openstack"


def _constraint(name: str, entity: str, description: str) -> type[ClientConstraint]:
    return type(name, (_InTheCloud,), {"name": name, "entity": entity, "__doc__": description})


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


_OF_A_DOMAIN = "``name{domain}`` is the one of that name in a domain."

NovaFlavor = _constraint("nova.flavor", "flavor", "A flavor of servers that the user may see.")
NovaServer = _constraint("nova.server", "server", "A server; by name, one of the user's project.")
GlanceImage = _constraint(
    "glance.image", "image", "An image. A hidden one is found by its name only where no other has it."
)
NeutronNetwork = _constraint("neutron.network", "network", "A network, one's own or one that is shared.")
NeutronSubnet = _constraint("neutron.subnet", "subnet", "A subnet.")
NeutronPort = _constraint("neutron.port", "port", "A port.")
NeutronRouter = _constraint("neutron.router", "router", "A router.")
NeutronSecurityGroup = _constraint("neutron.security_group", "security group", "A security group.")
NeutronSubnetPool = _constraint("neutron.subnetpool", "subnet pool", "A pool of subnets' addresses.")
NeutronAddressScope = _constraint("neutron.address_scope", "address scope", "A scope of addresses.")
NeutronSegment = _constraint("neutron.segment", "segment", "A segment of a network.")
NeutronQosPolicy = _constraint("neutron.qos_policy", "QoS policy", "A policy of the quality of service.")
CinderVolume = _constraint("cinder.volume", "volume", "A volume.")
CinderSnapshot = _constraint("cinder.snapshot", "volume snapshot", "A snapshot of a volume.")
CinderBackup = _constraint("cinder.backup", "volume backup", "A backup of a volume.")
CinderQoSSpecs = _constraint("cinder.qos_specs", "QoS specification", "A QoS specification of volumes.")
CinderVolumeType = _constraint("cinder.vtype", "volume type", "A type of volumes.")
KeystoneProject = _constraint("keystone.project", "project", f"A project; {_OF_A_DOMAIN}")
KeystoneUser = _constraint("keystone.user", "user", f"A user; {_OF_A_DOMAIN}")
KeystoneRole = _constraint("keystone.role", "role", f"A role; {_OF_A_DOMAIN}")
KeystoneGroup = _constraint("keystone.group", "group", f"A group of users; {_OF_A_DOMAIN}")
KeystoneDomain = _constraint("keystone.domain", "domain", "A domain.")
KeystoneService = _constraint("keystone.service", "service", "A service of the catalogue.")
KeystoneRegion = _constraint("keystone.region", "region", "A region, by its id.")
