"""Shared caches on dogpile.cache. Knows nothing of stacks."""
