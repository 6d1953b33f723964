"""Sync points: claim a node, finish its step, count its dependents down, wake it, extend its lease."""
