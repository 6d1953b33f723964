"""The constraint caches of one process: their making, their statistics, and flushes.

The cache itself is :mod:`cache.constraints`.
"""
