"""The stores that caches keep their entries in: memory, file, Redis, memcached; and private files, for all packages."""
