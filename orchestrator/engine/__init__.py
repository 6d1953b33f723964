"""The engine: begins, supersedes and ends traversals; every operation on a stack, and its previews.

Takes its store, publisher and clock as arguments, and knows no queue.
"""
