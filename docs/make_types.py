"""Write ``docs/types.md`` from the classes of the types that ship: ``python docs/make_types.py``.

It has what a page of ``isotherm docs build --format markdown`` has of each, made by the same templates.
"""

import tomllib
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.documentation.catalogue import described_types
from orchestrator.documentation.site import PageFormat, environment
from orchestrator.plugins.registry import ResourceTypes

PAGE = Path(__file__).with_name("types.md")
#: What ships is what this file declares; other packages may have installed more.
PROJECT = Path(__file__).parents[1] / "pyproject.toml"

INTRODUCTION = """\
# Resource types

<!-- Written by docs/make_types.py from the classes of the types: change them there. -->

The types that come with Isotherm. `isotherm resource-type list` shows what is installed, types of other packages
included, and `isotherm resource-type show NAME` what this page shows of one. `isotherm docs build` writes a site of
them all, for a browser, and `isotherm resource-type template NAME` a template around one.

Below a property of the type map or list, its children follow: `ready.timeout` is inside `ready`, and `list.*` stands
for every item of `list`. What a change of a property means in an update stands behind its meaning, for a property and
all its children at once: `isotherm stack update --dry-run` tells it of one stack.

## What programs are told

`isotherm resource-type show NAME -f json` (or `-f yaml`) writes an object:

| Key | Value |
| --- | --- |
| `name` | the type's name |
| `description` | a sentence |
| `support_status` | how far the type can be relied on, see below |
| `origin` | an object of `package`, `version` and `target`, the class; empty texts where that is not known |
| `accepts_anything` | whether any property and any attribute will do |
| `properties` | an object: what each property may be, by its name |
| `properties_groups` | a list: what must, or may, be given together, see below |
| `translations` | a list: which old names, and names in place of ids, are translated, see below |
| `attributes` | an object: what each attribute is, by its name, see below |
| `update_policy` | an object like `properties`: what `update_policy` may say |
| `example` | the text of a template that uses the type; null if there is none |

What a property may be is an object:

| Key | Value |
| --- | --- |
| `type` | `string`, `integer`, `number`, `boolean`, `map`, `list` or `any` |
| `description` | a sentence |
| `required` | whether it must be given |
| `default` | its value where it is not given; null if it has none |
| `update_allowed` | whether a change is made in place; else it replaces the resource, or see `immutable` |
| `immutable` | whether a change is refused |
| `implemented` | whether a value does anything; else giving one is refused |
| `support_status` | how far it can be relied on |
| `constraints` | a list of objects: `description`, and the key by which HOT says the same, such as `range` |
| `schema` | an object: what its children may be, by their names, or of a list every item, by the name `*` |

What an attribute is, is an object:

| Key | Value |
| --- | --- |
| `type` | as of a property; null if that depends |
| `description` | a sentence |
| `cache_mode` | `local`: it is asked for anew when the resource changes; `none`: at every visit of it |
| `support_status` | how far it can be relied on |

Hidden properties and attributes, which are there for the sake of old templates alone, are left out. How far something
can be relied on is an object:

| Key | Value |
| --- | --- |
| `status` | `supported`, `deprecated`, `unsupported` or `hidden` |
| `version` | the version of the package since which that is so; may be empty |
| `substitute` | of a type, the name of the one to use instead; may be empty |
| `description` | the same in words, with what to use instead; empty of what is supported |

What goes together is an object:

| Key | Value |
| --- | --- |
| `declared` | the group as the type declares it |
| `description` | the same in words |
| `columns` | the head of a table: the paths of properties, and last `allowed` |
| `rows` | its lines: of each combination, which are `given`, and last `yes` or `no`; none if there are too many |

What is translated is an object:

| Key | Value |
| --- | --- |
| `path` | the property that comes of it, with those that it is inside |
| `rule` | `add`, `replace`, `resolve` or `delete` |
| `description` | the same in words |

## The types

"""


def page() -> str:
    """Return the page's text."""
    declared = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]["isotherm.resources"]
    types = described_types(ResourceTypes.load(), Settings(), names=declared)
    return INTRODUCTION + environment(PageFormat.MARKDOWN).get_template("types.md.j2").render(types=types)


if __name__ == "__main__":
    PAGE.write_text(page())
