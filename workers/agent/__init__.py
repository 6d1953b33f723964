"""The agent of a machine: its RPCs, hypervisors and storage, and the invalidation around whatever changes the machine.

Knows nothing of stacks. All durable state of an agent is on its own disk.
"""
