"""Queries: reads of stacks and operations for faces.

A query changes nothing, loads no plugin and calls no other system.
"""
