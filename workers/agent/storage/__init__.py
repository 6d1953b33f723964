"""Storage: backends for volumes of a machine, entry points of the group ``isotherm.storage``."""
