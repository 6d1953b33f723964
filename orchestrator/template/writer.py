"""YAML output for users: texts of several lines as blocks, small lists and maps in one line."""

from typing import Final

import yaml

#: The width at which lines are broken.
_WIDTH: Final = 110
#: The most characters in the values of a list or map that is written in one line.
_SHORT: Final = 60


class _Dumper(yaml.SafeDumper):
    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Return a text as a block if it has several lines; one that a block cannot contain is quoted."""
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    def represent_items(self, items: list[object]) -> yaml.SequenceNode:
        """Return a list, in one line if it is small."""
        return self.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=_is_small(items))

    def represent_entries(self, entries: dict[str, object]) -> yaml.MappingNode:
        """Return a map, in one line if it is one small entry, as most calls of functions are."""
        small = len(entries) == 1 and _is_small([*entries, *entries.values()])
        return self.represent_mapping("tag:yaml.org,2002:map", entries, flow_style=small)


_Dumper.add_representer(str, _Dumper.represent_text)
_Dumper.add_representer(list, _Dumper.represent_items)
_Dumper.add_representer(dict, _Dumper.represent_entries)


def write(data: object, *, ascii_only: bool) -> str:
    """Return plain JSON types, in which no container occurs twice, as YAML, with keys in their own order."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=not ascii_only, width=_WIDTH)


def _is_small(values: list[object]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    is_flat = not any(isinstance(value, (dict, list)) and value for value in values)
    # A colon, as in the names of types, would have to be quoted.
    is_plain = not any(mark in text for text in texts for mark in "\n:")
    return is_flat and is_plain and sum(map(len, texts)) + 4 * len(values) <= _SHORT
