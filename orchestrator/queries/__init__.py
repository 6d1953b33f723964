"""Queries: what faces read of stacks and operations.

A query changes nothing, loads no plugin and calls no other system.
"""
