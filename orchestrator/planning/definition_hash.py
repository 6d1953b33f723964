"""The fingerprints of what was applied to a resource: an update compares them with what is wanted."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgpack


def definition_hash(type_name: str, properties: Mapping[str, Any], type_version: int) -> str:
    """Return the same for the same type, version of the type's code, and resolved properties."""
    parts = [type_name, type_version, sorted(properties.items())]
    return hashlib.sha256(msgpack.packb(parts)).hexdigest()


def metadata_hash(metadata: Mapping[str, Any]) -> str:
    """Return the same for the same resolved metadata."""
    return hashlib.sha256(msgpack.packb(sorted(metadata.items()))).hexdigest()
