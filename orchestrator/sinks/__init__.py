"""Delivery of events to event sinks: at least once, in order, with retries and back-off.

Delivery is not part of an operation: committed events are read from the history afterwards.
"""
