"""Purges: rows that nothing needs any more, removed in batches."""
