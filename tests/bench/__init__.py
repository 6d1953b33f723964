"""Measurements: what a resource costs, beside what a Celery task that does nothing costs in the same run."""
