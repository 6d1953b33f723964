"""Planning: prepares validated definitions, and compares them with the rows of their stacks.

It begins nothing: the engine begins the planned traversals.
"""
