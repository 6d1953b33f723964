"""Request handlers: pages, data, streams and actions."""
