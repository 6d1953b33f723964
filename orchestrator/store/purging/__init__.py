"""Purges: rows that are not needed any more are removed in batches."""
