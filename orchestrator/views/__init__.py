"""Views: the values that faces show, frozen and with ``to_dict``.

The store and the queries fill them; nothing here reads.
"""
