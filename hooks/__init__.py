"""Where an operator's own code joins in: lifecycle plugins, event sinks. Knows nothing of workers or store."""
