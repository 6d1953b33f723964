"""Resource types that are stacks of similar members, and the policies that scale them.

Decisions (the members of a group, the next change) are pure functions in files of their own; the types
apply them to the nested stack that each of them is.
"""
