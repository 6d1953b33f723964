"""OpenTelemetry traces of operations, where tracing is switched on.

Where it is off, nothing of OpenTelemetry is imported.
"""
