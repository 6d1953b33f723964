"""The plugin contract: resource types, properties, attributes, constraints, clients, and their registries.

Nothing here may import the store or a queue: a plugin receives values and returns values.
"""
