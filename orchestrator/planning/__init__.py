"""Planning: what a sound definition needs, compared with the rows of its stack.

Decides; the engine begins what was decided.
"""
