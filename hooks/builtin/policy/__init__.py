"""The lifecycle plugin ``policy``: rules in YAML files that stacks must keep.

Whether a stack keeps a rule is decided by pure functions over what plugins are shown of it; only ``reader``
and ``files`` read files.
"""
