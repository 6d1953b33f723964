"""The origin of an entry point, for messages: the package that brought it."""

from traceback import walk_tb

from hooks.loading.entry import Entry
from hooks.loading.index import entry_points


def package_of(entry: Entry) -> str:
    """Return the package that brought an entry point, or all that did."""
    # The entry point itself may be without its package.
    known = [each for each in entry_points(group=entry.group) if each[:2] == entry[:2]]
    packages = sorted({found.dist.name for found in known if found.dist})
    return " and ".join(packages) or "an unknown package"


def line_of(entry: Entry, error: BaseException) -> str:
    """Return the line of its own package at which an entry point failed, such as `` (acme.py:7)``; empty for none."""
    ours = entry.module.partition(".")[0]
    lines = [
        f" ({frame.f_code.co_filename}:{line})"
        for frame, line in walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == ours
    ]
    return lines[-1] if lines else ""


def origin_of(entry: Entry) -> str:
    """Return an entry point's target, its group and its package, such as ``acme.mail:Sink, isotherm.x of acme``."""
    return f"{entry.value}, {entry.group} of {package_of(entry)}"
