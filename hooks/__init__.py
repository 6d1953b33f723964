"""Extension points for operators' own code: lifecycle plugins and event sinks.

Knows nothing of workers or the store.
"""
