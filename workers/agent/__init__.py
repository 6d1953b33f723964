"""The agent of a machine: its RPCs, hypervisors and storage, and the invalidation of caches by each change.

Knows nothing of stacks. All durable state of an agent is on its own disk.
"""
