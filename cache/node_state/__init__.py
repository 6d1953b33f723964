"""What nodes are and what runs on them: asked of a node's agent in one call, and remembered for all.

Keyed by node name. An entry is served only if it holds everything that is asked for, and only while the node's tokens
are those with which it was asked for. Knows nothing of stacks, of queues, or of how a node is asked.
"""
