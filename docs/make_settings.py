"""Write ``docs/settings.md`` from the settings themselves: ``python docs/make_settings.py``."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args

from orchestrator.config.section import Section
from orchestrator.config.setting import Setting, is_section
from orchestrator.config.settings import Settings
from orchestrator.config.variables import variable_of

PAGE = Path(__file__).with_name("settings.md")

INTRODUCTION = """\
# Settings

<!-- Written by docs/make_settings.py from orchestrator/config/settings.py: change it there. -->

Each setting has a name in `isotherm.toml` (in the working directory, or the file of `ISOTHERM_CONFIG`, which must
exist then) and a variable, which takes precedence. Unknown names in the file are refused; `isotherm doctor` reports
misspelt variables.
In a variable a list is written as JSON: `ISOTHERM_NODE_DIRECTORIES='["/srv/a", "/srv/b"]'`.
A setting with dots in its name is in a table of the file: `constraint_cache.enabled` is `enabled` below
`[constraint_cache]`. NAME stands for any name of its kind.
Every setting has a default; with the defaults, `isotherm` does all work in one process.

| Setting | Variable | Default | Meaning |
|---|---|---|---|
"""

#: The bounds that the page names.
LIMITS: Final = {"gt": "More than", "ge": "At least"}
#: Defaults that are found out at start-up.
FOUND_OUT = {"state_directory": "`$XDG_STATE_HOME/isotherm`, or `~/.local/state/isotherm`"}


def page() -> str:
    """Return the page's text."""
    return INTRODUCTION + "".join(_row(path, each) for path, each in leaves(Settings))


def leaves(section: type[Section], *path: str) -> Iterator[tuple[tuple[str, ...], Setting]]:
    """Yield each setting with its path; those of sections in sections instead of these themselves."""
    for name, each in section.declared.items():
        arguments = [argument for argument in get_args(each.kind) if is_section(argument)]
        if is_section(each.kind):
            yield from leaves(each.kind, *path, name)
        elif arguments:
            yield from leaves(arguments[0], *path, name, "NAME")
        else:
            yield (*path, name), each


def _row(path: tuple[str, ...], each: Setting) -> str:
    meaning = " ".join([each.description, *_limits(each)])
    name, variable = ".".join(path), variable_of(path)
    cells = [f"`{name}`", f"`{variable}`", _default(name, each), meaning.replace("|", r"\|")]
    return f"| {' | '.join(cells)} |\n"


def _default(name: str, each: Setting) -> str:
    if each.default_factory:
        return FOUND_OUT[name]
    default: Any = each.default
    if default is None:
        return "as for all" if ".NAME." in name else "empty"
    if default in ("", ()):
        return "empty"
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _limits(each: Setting) -> list[str]:
    return [f"{LIMITS[name]} {bound}." for name, bound in each.bounds.items() if name in LIMITS]


if __name__ == "__main__":
    PAGE.write_text(page())
