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

The types that come with Isotherm. `isotherm resource-type list` lists all installed types, including those of other
packages, and `isotherm resource-type show NAME` documents one as on this page. `isotherm docs build` writes a site
about all of them, and `isotherm resource-type template NAME` a template that wraps one.

The children of a property of the type map or list follow it: `ready.timeout` is inside `ready`, and `list.*` stands
for every item of `list`. The effect of a change in an update follows the description, for a property with
all its children; `isotherm stack update --dry-run` shows the effect on one stack.

## JSON output

`isotherm resource-type show NAME -f json` (or `-f yaml`) writes an object:

| Key | Value |
| --- | --- |
| `name` | the type's name |
| `description` | a sentence |
| `support_status` | the support status of the type, see below |
| `origin` | an object of `package`, `version` and `target`, the class; empty texts if unknown |
| `accepts_anything` | whether every property and attribute is accepted |
| `properties` | an object of properties by name, see below |
| `properties_groups` | a list of properties groups, see below |
| `translations` | a list of the translations of old names, and of names into ids, see below |
| `attributes` | an object of attributes by name, see below |
| `update_policy` | an object like `properties`: the keys of `update_policy` |
| `example` | the text of a template that uses the type; null if there is none |

A property is an object:

| Key | Value |
| --- | --- |
| `type` | `string`, `integer`, `number`, `boolean`, `map`, `list` or `any` |
| `description` | a sentence |
| `required` | whether it must be given |
| `default` | its default value; null if it has none |
| `update_allowed` | whether a change is made in place; else it replaces the resource, or see `immutable` |
| `immutable` | whether a change is refused |
| `implemented` | whether the property has an effect; else giving a value is refused |
| `support_status` | its support status, see below |
| `constraints` | a list of objects: `description`, and the key of the constraint in HOT, such as `range` |
| `schema` | an object of its children by name; the items of a list have the name `*` |

An attribute is an object:

| Key | Value |
| --- | --- |
| `type` | as for a property; null if it varies |
| `description` | a sentence |
| `cache_mode` | `local`: read again when the resource changes; `none`: at every visit of the resource |
| `support_status` | its support status, see below |

Hidden properties and attributes, which exist only for old templates, are left out. A support status is an object:

| Key | Value |
| --- | --- |
| `status` | `supported`, `deprecated`, `unsupported` or `hidden` |
| `version` | the version of the package that introduced the status; may be empty |
| `substitute` | of a type, the name of its substitute; may be empty |
| `description` | the same in words, with the alternative; empty for `supported` |

A properties group is an object:

| Key | Value |
| --- | --- |
| `declared` | the group as the type declares it |
| `description` | the same in words |
| `columns` | the head of a table: the paths of properties, and last `allowed` |
| `rows` | its rows: the `given` properties of each combination, and last `yes` or `no`; empty if too many |

A translation is an object:

| Key | Value |
| --- | --- |
| `path` | the path of the resulting property |
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
