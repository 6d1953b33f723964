"""``OS::Heat::None``: a stand-in for any type, without effect."""

from typing import Any

from workers.resources.core.row import RowResource


class NoneResource(RowResource):
    """Accepts any property, has any attribute (always null), and is never replaced."""

    description = "Stands in for any other type: accepts every property, and every attribute is null."
    example = """\
heat_template_version: 2021-04-16
resources:
  server:
    type: OS::Heat::None
    properties: {image: debian, flavor: small}
"""
    pure = True
    accepts_anything = True

    def attribute(self, name: str) -> Any:  # noqa: ARG002 (the contract's signature)
        """Return None for any attribute."""
        return None
