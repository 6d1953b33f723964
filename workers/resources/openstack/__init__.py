"""Resource types of OpenStack, with the properties and attributes of Heat's, by service."""
