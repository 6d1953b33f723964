"""The event sinks that ship, all of them off until the settings say otherwise."""
