"""Resource types for objects of REST APIs.

A module here calls an API through the client plugin ``http`` and is specific to none: paths, bodies, and the places of
values in answers come from the template.
"""
