"""Traversals: how they start and end, the sweep, and the ledger of lifecycle plugin calls."""
