"""The machine-state cache: what machines are and what runs on them, fetched from their agents and shared.

Keyed by node name, the machine's name. An entry is served only if it holds all requested sections, and only while the
machine's tokens are those under which it was fetched. Knows nothing of stacks, of queues, or of how agents are called.
"""
