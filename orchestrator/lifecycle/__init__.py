"""Lifecycle plugins: calls their ``do_pre_op`` and ``do_post_op`` around every operation.

The stacks passed to plugins are made in :mod:`orchestrator.lifecycle.frozen_stacks`; the calls are recorded in
:mod:`orchestrator.store.traversals.ledger`.
"""
