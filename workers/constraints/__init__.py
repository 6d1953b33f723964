"""The custom constraints that ship: conditions on parameters beyond the language's own constraints.

A module here knows the plugin contract and nothing of stacks. Constraints are found through entry points; nothing else
imports these modules.
"""
