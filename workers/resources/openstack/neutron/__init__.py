"""Resource types of OpenStack's Neutron."""
