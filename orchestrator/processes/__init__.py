"""Processes: one process put together from its settings, embedded or over the queue."""
