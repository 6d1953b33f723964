"""Nodes of traversals (Heat's sync points): claims, finishes, wake-ups, leases and breakpoints."""
