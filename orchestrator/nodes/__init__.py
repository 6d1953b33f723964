"""Machines with an agent (``isotherm node``): administration, queries, watching, and the RPC client.

The agent is :mod:`workers.agent`; the cache of machine states is :mod:`cache.node_state`.
"""
