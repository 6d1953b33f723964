"""``OS::Nova::Server``, by the parts of a server."""
