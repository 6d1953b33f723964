"""Validation of jobs: all problems with a template and its environments are found in one pass.

Stores nothing; only :mod:`orchestrator.validation.external` queries other systems.
"""
