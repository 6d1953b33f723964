"""Entry point of the program ``isotherm``: checks that its packages are its own, and runs the command line.

The names of four of them are common. If another module has one of these names, such as a ``cache.py`` in the current
directory, it is not run, and the file is named.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

#: The directory of this package and of the others.
_HOME: Final = Path(__file__).resolve().parents[1]
_PACKAGES: Final = ("orchestrator", "workers", "cache", "hooks")


def main() -> None:
    """Run the program.

    Raises:
        SystemExit: with 2 if another module would be imported in place of one of its packages.
    """
    if sentence := in_the_way() or overwritten(_HOME):
        sys.stderr.write(f"Error: {sentence}\n")
        raise SystemExit(2)
    from orchestrator.cli.start import main as run

    run()


def in_the_way() -> str:
    """Return a sentence about the module that Python would import in place of one of our packages; empty: none."""
    for name in _PACKAGES:
        # Nothing is imported: the module found may have any effect.
        spec = find_spec(name)
        # A directory without an __init__ has no origin.
        found = spec.origin or next(iter(spec.submodule_search_locations or ()), "") if spec else ""
        if not found:
            return f"the package {name!r} is missing in {_HOME}: install isotherm again"
        if Path(found).resolve() != _HOME / name / "__init__.py":
            remedy = "rename it, or start isotherm where Python does not find it first"
            return f"{found} stands in the way of the package {name!r}, which is a part of isotherm: {remedy}"
    return ""


def overwritten(home: Path) -> str:
    """Return a sentence about a package of ours whose files another distribution has overwritten; empty: none."""
    for record in home.glob("isotherm-*.dist-info/RECORD"):
        written = dict(line.split(",", 1) for line in record.read_text().splitlines() if "," in line)
        for name in _PACKAGES:
            file, size = (
                home / name / "__init__.py",
                written.get(f"{name}/__init__.py", "").rpartition(",")[2],
            )
            if size.isdigit() and file.stat().st_size != int(size):
                remedy = "install isotherm again, in an environment of its own"
                return f"{file} is not the one that isotherm brought: another package has overwritten it; {remedy}"
    return ""
