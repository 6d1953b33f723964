"""The template language: parsing with positions, functions, parameters, environments.

Nothing here touches the store, the queue or other systems: text goes in, definitions or problems come out.
"""
