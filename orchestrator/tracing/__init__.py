"""Tracing: OpenTelemetry traces of operations on stacks, if the setting ``tracing`` is on.

Otherwise OpenTelemetry is not imported.
"""
