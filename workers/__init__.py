"""Everything about a single resource: the check algorithm, resource types, client plugins, the agent.

Nothing here knows a stack as a whole: a check sees its own fragment of the template and its direct requirements.
"""
