"""Packages with entry points, as pip leaves them: what an installation has is what a test put there."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path


def install(
    directory: Path,
    package: str,
    source: str,
    entries: Mapping[str, Sequence[str]],
    *,
    version: str = "1.0",
) -> None:
    """Install a package of one module of the same name; Python must be told to look into the directory.

    Args:
        directory: Where to.
        package: Its name.
        source: What is in its module.
        entries: By group, entry points such as ``mail = acme:Mail``.
        version: Its version.
    """
    (directory / f"{package}.py").write_text(textwrap.dedent(source))
    metadata = directory / f"{package}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = [line for group, points in entries.items() for line in (f"[{group}]", *points)]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
