"""Placement: chooses a machine for each resource of a stack that needs one, all at once, before any is made.

The choice is a pure function (:mod:`orchestrator.placement.solver`) of measured machine states and of capacity
reservations (:mod:`orchestrator.store.machines.reservations`); the lifecycle plugin ``placement`` calls it.
"""
