"""The command line: translates between people and the service, one module a noun, and decides nothing.

Modules here import only click and small values when they are loaded. What is heavy (settings, rich, the
store, the queue, plugins) is imported by the command that needs it, so that help and shell completion are
quick.
"""
