"""Resource types that are stacks made of like parts, and what changes their size.

What is decided (who belongs to a group, what is changed next) is pure and stands in files of its own; the types
themselves only ask for it and hand it to the one stack that each of them is.
"""
