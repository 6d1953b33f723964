"""Fetch the libraries that the dashboard's pages need, with npm: ``python docs/make_frontend.py [NAME VERSION]``.

Cytoscape.js draws graphs, and ELK works out where their boxes and arrows are. Both are in the repository and in the
package, so that nobody who installs the dashboard needs npm, and no page asks another machine for anything. Without a
version, what is there is fetched again and must be the same, byte for byte. With one, that version of the library
takes its place, and the checksums are written down: commit all of it.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).parents[1] / "orchestrator" / "dashboard" / "static"
VENDOR: Final = STATIC / "vendor"
#: What `sha256sum --check` reads.
SUMS: Final = VENDOR / "SHA256SUMS"


@dataclass(frozen=True)
class Library:
    """A package of npm, and what of it is kept.

    Attributes:
        name: The name of the package.
        kept: Where the package has what is kept, and the end of the name under which it is kept.
        module: The file name of the module through which all others import it, so that its version is in one place.
        entrance: The text of that module; ``{0}``, ``{1}`` ... are the addresses of the kept files, in their order.
    """

    name: str
    kept: Mapping[str, str]
    module: str
    entrance: str

    def kept_name(self, version: str, ending: str) -> str:
        """Return the name of a file of a version as it is kept."""
        return f"{self.name}-{version}.{ending}"

    def kept_version(self) -> str:
        """Return the version that is there."""
        found = re.search(rf"  {re.escape(self.name)}-(\d+(?:\.\d+)+)\.", SUMS.read_text())
        if found is None:
            sys.exit(f"{self.name} is not there yet: name the version to fetch")
        return found[1]

    def fetch(self, version: str, directory: Path) -> dict[str, bytes]:
        """Return the files of a version by the names under which they are kept; npm checks what it fetched."""
        npm = shutil.which("npm")
        if npm is None:
            sys.exit("npm is not installed: Debian has it in the package npm")
        command = [npm, "pack", "--silent", "--ignore-scripts", f"{self.name}@{version}"]
        packed = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)  # noqa: S603
        if packed.returncode:
            sys.exit(f"npm could not fetch {self.name} {version}: {packed.stderr.strip()}")
        with tarfile.open(directory / packed.stdout.split()[-1]) as archive:
            members = {ending: archive.extractfile(path) for path, ending in self.kept.items()}
            return {self.kept_name(version, ending): each.read() for ending, each in members.items() if each}

    def keep(self, version: str, files: Mapping[str, bytes]) -> None:
        """Put a version in the place of the one that is there."""
        VENDOR.mkdir(parents=True, exist_ok=True)
        for old in VENDOR.glob(f"{self.name}-*"):
            old.unlink()
        for name, content in files.items():
            (VENDOR / name).write_bytes(content)
        addresses = (f"../vendor/{self.kept_name(version, ending)}" for ending in self.kept.values())
        written = "// Written by docs/make_frontend.py. The library is imported from here alone.\n"
        (STATIC / "js" / self.module).write_text(written + self.entrance.format(*addresses))


LIBRARIES: Final = (
    Library(
        name="cytoscape",
        kept={"package/dist/cytoscape.esm.min.mjs": "min.js", "package/LICENSE": "LICENSE.txt"},
        module="cytoscape.js",
        entrance='export {{ default }} from "{0}";\n',
    ),
    Library(
        name="elkjs",
        kept={
            "package/lib/elk-api.js": "api.js",
            "package/lib/elk-worker.min.js": "worker.min.js",
            "package/LICENSE.md": "LICENSE.txt",
        },
        module="elk.js",
        # It is no module: it leaves its class with the window.
        entrance=(
            'import "{0}";\n\n'
            "export default window.ELK;\n"
            "/** What runs in a worker. */\n"
            'export const workerUrl = new URL("{1}", import.meta.url).href;\n'
        ),
    ),
)


def sums(directory: Path) -> str:
    """Return the checksums of all kept files as ``sha256sum`` writes them."""
    files = sorted(path for path in directory.iterdir() if path != SUMS)
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def main(arguments: list[str]) -> None:
    """Fetch the version that is named, or check all that are there."""
    name, version = arguments or (None, None)
    for library in LIBRARIES:
        if name not in (None, library.name):
            continue
        wanted = version or library.kept_version()
        with tempfile.TemporaryDirectory() as directory:
            files = library.fetch(wanted, Path(directory))
        there = {path.name: path.read_bytes() for path in VENDOR.glob(f"{library.name}-*")}
        if version is None and files != there:
            sys.exit(
                f"{library.name} {wanted} is not what it was when it was put into {VENDOR}: nothing is changed"
            )
        library.keep(wanted, files)
        print(f"{library.name} {wanted}: {', '.join(sorted(files))}")  # noqa: T201
    if version is not None:
        SUMS.write_text(sums(VENDOR))
    elif sums(VENDOR) != SUMS.read_text():
        sys.exit(f"{SUMS} has other checksums than the files beside it")


if __name__ == "__main__":
    main(sys.argv[1:])
