"""Where an entry point comes from, in words: what a person needs to find the package that brought it."""

from importlib.metadata import EntryPoint, entry_points


def origin_of(entry: EntryPoint) -> str:
    """Return an entry point's target, its group and its package, such as ``acme.mail:Sink, isotherm.x of acme``."""
    # stevedore hands out entry points from a cache that forgets their packages.
    known = entry_points(group=entry.group, name=entry.name, value=entry.value)
    packages = sorted({found.dist.name for found in known if found.dist})
    return f"{entry.value}, {entry.group} of {' and '.join(packages) or 'an unknown package'}"
