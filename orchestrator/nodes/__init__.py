"""Nodes as everybody but their agents sees them: who they are, how they are asked, and what may be placed on them.

What agents themselves do is in :mod:`workers.agent`; what they said last is in :mod:`cache.node_state`.
"""
