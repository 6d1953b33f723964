"""Resource types of OpenStack's Glance."""
