"""Fetch the libraries that the dashboard's pages need, with npm: ``python docs/make_frontend.py [NAME [VERSION]]``.

Cytoscape.js draws graphs, ELK works out where their boxes and arrows are, and CodeMirror edits and shows templates. All
are in the repository and in the package, so that nobody who installs the dashboard needs npm, and no page asks another
machine for anything. Without a version, what is there is fetched again and must be the same, byte for byte. With one,
that version of the library takes its place, and the checksums are written down: commit all of it.

CodeMirror consists of many packages: esbuild bundles what ``docs/frontend/codemirror.js`` exports into one module, from
the versions in ``docs/frontend/package-lock.json``. Its version is that of ``@codemirror/view``.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).parents[1] / "orchestrator" / "dashboard" / "static"
VENDOR: Final = STATIC / "vendor"
#: What `sha256sum --check` reads.
SUMS: Final = VENDOR / "SHA256SUMS"
#: What is bundled, and in which versions.
SOURCES: Final = Path(__file__).parent / "frontend"
LOCK: Final = "package-lock.json"


def run(directory: Path, program: str, *arguments: str) -> str:
    """Return what a command of npm, or a program that npm installed, writes.

    Raises:
        SystemExit: it failed, or npm is not installed.
    """
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is not installed: Debian has it in the package npm")
    command = [npm if program == "npm" else program, *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{program} {' '.join(arguments)} failed: {done.stderr.strip()}")
    return done.stdout


@dataclass(frozen=True, kw_only=True)
class Library(ABC):
    """A library, of which some files are kept.

    Attributes:
        name: Its name, with which the names of its files begin.
        module: The file name of the module through which all others import it, so that its version is in one place.
        entrance: The text of that module; ``{0}``, ``{1}`` ... are the addresses of the kept files, in their order.
    """

    name: str
    module: str
    entrance: str

    @abstractmethod
    def fetch(self, version: str, directory: Path) -> dict[str, bytes]:
        """Return the files of a version by the ends of their kept names; npm checks what it fetched."""

    def kept_name(self, version: str, ending: str) -> str:
        """Return the name of a file of a version as it is kept."""
        return f"{self.name}-{version}.{ending}"

    def kept_version(self) -> str:
        """Return the version that is there."""
        found = re.search(rf"  {re.escape(self.name)}-(\d+(?:\.\d+)+)\.", SUMS.read_text())
        if found is None:
            sys.exit(f"{self.name} is not there yet: name the version to fetch")
        return found[1]

    def keep(self, version: str, files: Mapping[str, bytes]) -> None:
        """Put a version in the place of the one that is there."""
        VENDOR.mkdir(parents=True, exist_ok=True)
        for old in VENDOR.glob(f"{self.name}-*"):
            old.unlink()
        for ending, content in files.items():
            (VENDOR / self.kept_name(version, ending)).write_bytes(content)
        addresses = (f"../vendor/{self.kept_name(version, ending)}" for ending in files)
        written = "// Written by docs/make_frontend.py. The library is imported from here alone.\n"
        (STATIC / "js" / self.module).write_text(written + self.entrance.format(*addresses))


@dataclass(frozen=True, kw_only=True)
class Package(Library):
    """A package of npm, some of whose files are kept as they are.

    Attributes:
        kept: Where the package has what is kept, and the end of the name under which it is kept.
    """

    kept: Mapping[str, str]

    def fetch(self, version: str, directory: Path) -> dict[str, bytes]:
        """Return the kept files of a version."""
        packed = run(directory, "npm", "pack", "--silent", "--ignore-scripts", f"{self.name}@{version}")
        with tarfile.open(directory / packed.split()[-1]) as archive:
            members = {ending: archive.extractfile(path) for path, ending in self.kept.items()}
            return {ending: each.read() for ending, each in members.items() if each}


@dataclass(frozen=True, kw_only=True)
class Bundle(Library):
    """Packages of npm, bundled into one module.

    Attributes:
        source: The module in :data:`SOURCES` that exports what is needed of them.
        leader: The package whose version is the bundle's.
    """

    source: str
    leader: str

    def fetch(self, version: str, directory: Path) -> dict[str, bytes]:
        """Return the bundle of the locked versions, with the licences; another version is locked first."""
        for name in (self.source, "package.json", LOCK):
            if (SOURCES / name).exists():
                shutil.copy(SOURCES / name, directory)
        if self._locked(directory).get(self.leader) != version:
            self._lock(version, directory)
        run(directory, "npm", "ci", "--silent", "--ignore-scripts")
        locked = self._locked(directory)
        shutil.copy(directory / LOCK, SOURCES / LOCK)
        banner = f"/*! {self.name} {version}: docs/make_frontend.py bundled it. */"
        options = ("--bundle", "--format=esm", "--minify", "--legal-comments=none", "--metafile=meta.json")
        run(
            directory,
            str(directory / "node_modules" / ".bin" / "esbuild"),
            *(self.source, *options, f"--banner:js={banner}", "--outfile=bundle.js"),
        )
        inputs = json.loads((directory / "meta.json").read_text())["inputs"]
        used = sorted(
            {found[1] for each in inputs if (found := re.match(r"node_modules/((?:@[^/]+/)?[^/]+)/", each))}
        )
        licences = (
            f"{name} {locked[name]}\n\n{(directory / 'node_modules' / name / 'LICENSE').read_text().strip()}\n"
            for name in used
        )
        return {
            "min.js": (directory / "bundle.js").read_bytes(),
            "LICENSE.txt": f"\n{'-' * 80}\n\n".join(licences).encode(),
        }

    def _lock(self, version: str, directory: Path) -> None:
        # Without the addresses of a registry, which are the reader's own.
        options = ("--silent", "--package-lock-only", "--omit-lockfile-registry-resolved")
        (directory / LOCK).unlink(missing_ok=True)
        declared = (directory / "package.json").read_text()
        run(directory, "npm", "install", *options, f"{self.leader}@{version}")
        # Declared are ranges; which versions they are is in the lock alone.
        (directory / "package.json").write_text(declared)
        run(directory, "npm", "install", *options)

    def _locked(self, directory: Path) -> dict[str, str]:
        """Return the locked versions by package; empty without a lock."""
        path = directory / LOCK
        packages = json.loads(path.read_text())["packages"] if path.exists() else {}
        return {
            name.removeprefix("node_modules/"): each["version"] for name, each in packages.items() if name
        }


LIBRARIES: Final = (
    Package(
        name="cytoscape",
        kept={"package/dist/cytoscape.esm.min.mjs": "min.js", "package/LICENSE": "LICENSE.txt"},
        module="cytoscape.js",
        entrance='export {{ default }} from "{0}";\n',
    ),
    Package(
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
    Bundle(
        name="codemirror",
        source="codemirror.js",
        leader="@codemirror/view",
        module="codemirror.js",
        entrance='export * from "{0}";\n',
    ),
)


def sums(directory: Path) -> str:
    """Return the checksums of all kept files as ``sha256sum`` writes them."""
    files = sorted(path for path in directory.iterdir() if path != SUMS)
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def main(arguments: list[str]) -> None:
    """Fetch the version that is named, or check all that are there."""
    name, version = (*arguments, None, None)[:2]
    for library in LIBRARIES:
        if name not in (None, library.name):
            continue
        wanted = version or library.kept_version()
        with tempfile.TemporaryDirectory() as directory:
            files = library.fetch(wanted, Path(directory))
        prefix = library.kept_name(wanted, "")
        there = {
            path.name.removeprefix(prefix): path.read_bytes() for path in VENDOR.glob(f"{library.name}-*")
        }
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
