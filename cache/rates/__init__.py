"""Rates of requests: token buckets that the processes of an installation share through the cache server."""
