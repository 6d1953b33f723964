"""Custom constraints that ship: what templates can demand of parameters beyond the language's own constraints.

A module here knows the plugin contract and nothing of stacks. Constraints are found through entry points; nothing else
imports these modules.
"""
