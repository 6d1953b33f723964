"""Hypervisors: what runs instances on a node. Each is an entry point of the group ``isotherm.hypervisors``."""
