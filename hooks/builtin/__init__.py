"""The lifecycle plugins and event sinks that ship with Isotherm; each is disabled until the settings enable it."""
