"""The event sinks that ship, all disabled until the settings enable them."""
