"""Validation: whether a job is sound, every finding in one go.

Stores nothing; only :mod:`orchestrator.validation.external` calls other systems.
"""
