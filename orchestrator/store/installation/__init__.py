"""The installation: its processes, jobs in flight, cache counters, and cursors of event sinks."""
