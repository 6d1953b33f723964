"""Hypervisors: backends that run instances on a machine, entry points of the group ``isotherm.hypervisors``."""
