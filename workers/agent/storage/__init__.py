"""Storage: where the volumes of a node are. Each is an entry point of the group ``isotherm.storage``."""
