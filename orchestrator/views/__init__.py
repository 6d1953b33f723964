"""Views: what the faces show, as frozen values with ``to_dict``.

The store and the queries fill them; nothing here reads anything.
"""
