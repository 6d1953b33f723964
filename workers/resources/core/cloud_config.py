"""``OS::Heat::CloudConfig``: a configuration of cloud-init, written as YAML."""

from typing import Any, Final

import yaml

from orchestrator.plugins.properties import Attribute, PropertyType
from workers.resources.core.row import RowResource
from workers.resources.schemas import mapping

#: The first line, by which cloud-init recognizes the format.
FIRST_LINE: Final = "#cloud-config"
#: Line separators in YAML that are none in Python: a text with one has to be quoted.
_BREAKS: Final = frozenset("\x85\u2028\u2029")


class _Dumper(yaml.SafeDumper):
    """Writes scripts as blocks, and no aliases: an equal map always gives the same text."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (the base's signature)
        """Write no anchors: whether two values are one object in memory is chance."""
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Return a text as a block if it has several lines; one that a block cannot hold is quoted."""
        style = "|" if "\n" in text else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style='"' if _BREAKS & {*text} else style)


_Dumper.add_representer(str, _Dumper.represent_text)


def cloud_config_text(config: dict[str, Any]) -> str:
    """Return the text that cloud-init reads as ``config``, keys in their own order."""
    return f"{FIRST_LINE}\n{yaml.dump(config, Dumper=_Dumper, sort_keys=False, allow_unicode=True)}"


class CloudConfig(RowResource):
    """A map, written as cloud-init reads it; any change makes a replacement."""

    description = "Holds a configuration of cloud-init, as text in cloud-init's format."
    example = """\
heat_template_version: 2021-04-16
resources:
  first_boot:
    type: OS::Heat::CloudConfig
    properties:
      cloud_config:
        packages: [nginx]
        runcmd:
          - [systemctl, enable, --now, nginx]
outputs:
  user_data:
    value: {get_attr: [first_boot, config]}
"""
    pure = True
    properties_schema = {
        "cloud_config": mapping("The configuration of cloud-init, by module.", default={}),
    }
    attributes_schema = {
        "config": Attribute("The text: #cloud-config, then the map as YAML.", PropertyType.STRING)
    }

    def attribute(self, name: str) -> Any:
        """Return the text."""
        return cloud_config_text(self.properties["cloud_config"]) if name == "config" else None
