"""The client side of node RPCs: requests, replies, and how they travel.

The agent's side is :mod:`workers.agent`.
"""
