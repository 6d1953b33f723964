"""RPCs of machines, the client side: requests, replies and transports.

The agent's side is :mod:`workers.agent`.
"""
