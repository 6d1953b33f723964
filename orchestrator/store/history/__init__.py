"""The history: events, finished operations, and reads of operations in progress."""
