"""Resource types of OpenStack's Nova."""
