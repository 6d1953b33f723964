"""Where the resources of a stack go that are on nodes: all of them decided at once, before any of them is made.

Deciding is pure (:mod:`orchestrator.placement.solver`); what is measured only ranks and bounds, what is promised is in
the ledger (:mod:`orchestrator.store.machines.reservations`), and the lifecycle plugin of this name joins both to
operations.
"""
