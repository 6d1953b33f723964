"""Resource types of OpenStack's Keystone."""
