"""The lifecycle plugins and event sinks that come with Isotherm; each is off until the settings turn it on."""
