"""The agent of a node: its RPCs, its hypervisors and its storage, and the brackets around whatever changes the node.

Knows nothing of stacks. Everything that an agent must not forget is on its own disk.
"""
