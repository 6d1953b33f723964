"""Signed calls over HTTP, bounded in time and size."""
