"""``oci``: containers, by runc or podman."""
