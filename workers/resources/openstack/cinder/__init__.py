"""Resource types of OpenStack's Cinder."""
