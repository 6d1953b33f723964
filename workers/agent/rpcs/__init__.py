"""The RPCs of an agent, by family. Each module is named by an entry point of the group ``isotherm.node_rpcs``."""
