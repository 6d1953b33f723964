"""Fetch the one library that the dashboard's pages need, with npm: ``python docs/make_frontend.py [VERSION]``.

Cytoscape.js draws graphs. It is in the repository and in the package, so that nobody who installs the dashboard needs
npm, and no page asks another machine for anything. Without a version, what is there is fetched again and must be the
same, byte for byte. With one, that version takes its place, and its checksums are written down: commit all of it.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).parents[1] / "orchestrator" / "dashboard" / "static"
VENDOR: Final = STATIC / "vendor"
#: What `sha256sum --check` reads.
SUMS: Final = VENDOR / "SHA256SUMS"
#: The module through which all others import the library, so that its version is told in one place.
ENTRANCE: Final = STATIC / "js" / "cytoscape.js"
LIBRARY: Final = "cytoscape"
#: Where npm's package has what we keep, and the end of the name under which we keep it.
KEPT: Final = {"package/dist/cytoscape.esm.min.mjs": "min.js", "package/LICENSE": "LICENSE.txt"}


def kept_name(version: str, ending: str) -> str:
    """Return the name of a file of a version as it is kept."""
    return f"{LIBRARY}-{version}.{ending}"


def kept_version() -> str:
    """Return the version that is there."""
    names = [line.split()[1] for line in SUMS.read_text().splitlines()]
    (library,) = [name for name in names if name.endswith(".min.js")]
    return library.removeprefix(f"{LIBRARY}-").removesuffix(".min.js")


def fetch(version: str, directory: Path) -> dict[str, bytes]:
    """Return the files of a version by the names under which they are kept; npm checks what it fetched."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is not installed: Debian has it in the package npm")
    command = [npm, "pack", "--silent", "--ignore-scripts", f"{LIBRARY}@{version}"]
    packed = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)  # noqa: S603
    if packed.returncode:
        sys.exit(f"npm could not fetch {LIBRARY} {version}: {packed.stderr.strip()}")
    with tarfile.open(directory / packed.stdout.split()[-1]) as archive:
        members = {kept: archive.extractfile(name) for name, kept in KEPT.items()}
        return {kept_name(version, kept): member.read() for kept, member in members.items() if member}


def sums(files: dict[str, bytes]) -> str:
    """Return the checksums of files as ``sha256sum`` writes them."""
    return "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))


def entrance(version: str) -> str:
    """Return the module that hands the library on."""
    return (
        "// Written by docs/make_frontend.py. The library is imported from here alone.\n"
        f'export {{ default }} from "../vendor/{kept_name(version, "min.js")}";\n'
    )


def keep(version: str, files: dict[str, bytes]) -> None:
    """Put a version in the place of the one that is there."""
    VENDOR.mkdir(parents=True, exist_ok=True)
    for old in VENDOR.glob(f"{LIBRARY}-*"):
        old.unlink()
    for name, content in files.items():
        (VENDOR / name).write_bytes(content)
    SUMS.write_text(sums(files))
    ENTRANCE.write_text(entrance(version))


def main(arguments: list[str]) -> None:
    """Fetch the version that is named, or check the one that is there."""
    version = arguments[0] if arguments else kept_version()
    with tempfile.TemporaryDirectory() as directory:
        files = fetch(version, Path(directory))
    if not arguments and sums(files) != SUMS.read_text():
        sys.exit(f"{LIBRARY} {version} is not what it was when it was put into {VENDOR}: nothing is changed")
    keep(version, files)
    print(f"{LIBRARY} {version}: {', '.join(sorted(files))}")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
