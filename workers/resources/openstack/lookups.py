"""Names in the place of ids."""

from orchestrator.plugins.translation import Resolve


def looked_up(entity: str, *path: str) -> Resolve:
    """Return the rule that a property, or each item of a list, may be the name of an entity."""
    return Resolve(path=path, client="openstack", entity=entity)
