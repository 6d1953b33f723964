"""Client plugins: one for each external system, with its connection and its look-ups.

A module here knows the plugin contract and the library of its system, never the store, the queue, or a resource type.
Clients are found through entry points; of other modules, only the resource types of their system import these.
"""
