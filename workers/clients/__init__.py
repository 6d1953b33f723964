"""Client plug-ins that ship with Isotherm: how it speaks to other systems.

A client knows its system's interface and its errors, and nothing of stacks.
"""
