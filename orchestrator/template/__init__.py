"""The template language: parsing with positions, functions, parameters, environment.

Nothing here touches the store, the queue or the outside world: text goes in, definitions or problems come out.
"""
