"""Real processes on real servers, of which something dies in the middle: what the README promises then, holds.

Each test has a coordinator and three workers of its own (``installation.py``). Simulated deaths, at every instruction
and in any order, are in ``tests/scenarios``.
"""
