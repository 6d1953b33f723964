"""Everything about a stack as a whole: its language, its state of record, its traversals, its faces.

What one resource does in the world lives in ``workers``, which this package never imports: resource types are
met through entry points and tasks through their names.
"""
