"""Everything about one resource at a time: the check algorithm, resource types, client plugins.

Nothing here knows a stack as a whole: a check sees its own fragment of the template and its direct requirements.
"""
