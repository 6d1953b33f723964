"""Where an operator's own code joins in: lifecycle plugins and event sinks.

Knows nothing of workers or the store.
"""
