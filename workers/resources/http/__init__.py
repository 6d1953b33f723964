"""Resource types for objects of REST APIs.

A module here speaks to an API through the client plugin ``http`` and knows none by name: paths, bodies, and where in
an answer to look come from the template.
"""
