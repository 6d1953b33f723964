"""The contract with plugin authors: resources, properties, attributes, and the registries that find them.

Nothing here may import the store or a queue: a plugin is handed values and returns values.
"""
