"""Lifecycle plugins around the operations on stacks: who is asked, who is told, and that nobody is forgotten.

What a plugin is shown is made in :mod:`orchestrator.lifecycle.frozen_stacks`; what is on record is in
:mod:`orchestrator.store.traversals.ledger`.
"""
