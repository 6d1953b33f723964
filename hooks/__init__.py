"""Where an operator joins in with code: lifecycle plugins, event sinks. Knows nothing of workers or the store."""
