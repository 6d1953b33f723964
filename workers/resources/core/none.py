"""``OS::Heat::None``: stands in for any type, and does nothing."""

from typing import Any

from workers.resources.core.row import RowResource


class NoneResource(RowResource):
    """Takes any property, has any attribute (always null), and is never replaced."""

    description = "Stands in for any other type: accepts every property, and every attribute is null."
    example = """\
heat_template_version: 2021-04-16
resources:
  server:
    type: OS::Heat::None
    properties: {image: debian, flavor: small}
"""
    accepts_anything = True

    def attribute(self, name: str) -> Any:  # noqa: ARG002 (the contract's signature)
        """Return None, whatever is asked."""
        return None
