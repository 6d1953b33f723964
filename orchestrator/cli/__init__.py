"""The command line: translates between users and the service, one module a noun, and decides nothing.

Modules here import only click and small values when they are loaded. Heavy modules (settings, rich, the store, the
queue, plugins) are imported by the command that needs them, so that help and shell completion are quick.
"""
