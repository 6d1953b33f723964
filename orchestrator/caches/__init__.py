"""Constraint caches of a process: creation, statistics and flushes.

The cache itself is :mod:`cache.constraints`.
"""
