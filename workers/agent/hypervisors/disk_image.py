"""Disk images, by qemu-img: format, layers, internal snapshots, and copies."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workers.agent.hypervisors.hypervisor import CannotDo, HypervisorFault
from workers.agent.hypervisors.tool import run_tool

_COPY_SECONDS: Final = 4 * 3600.0
#: Formats that keep everything in one file, if they refer to no other.
_FORMATS: Final = ("raw", "qcow2")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFile:
    """A disk's image file."""

    path: str
    format: str


@dataclass(frozen=True, slots=True)
class DiskImages:
    """Operations on images, by the program ``qemu-img``."""

    program: str

    def examine(self, path: str) -> ImageFile:
        """Return the kind of a user's image file.

        Raises:
            HypervisorFault: it does not exist, or refers to other files, which could be any file of the machine.
        """
        if not Path(path).exists():
            raise HypervisorFault(f"image: there is no {path}")
        info = self._info(path)
        if info["format"] not in _FORMATS:
            raise CannotDo(f"image: expected one of {', '.join(_FORMATS)}, found {info['format']}")
        inside = info.get("format-specific", {}).get("data", {})
        if "backing-filename" in info or "data-file" in inside:
            raise CannotDo("image: it refers to another file, expected one that holds all of itself")
        return ImageFile(path=path, format=info["format"])

    def handed_over(self, path: str, form: str) -> ImageFile:
        """Return a disk of an export, which others may have written.

        Raises:
            HypervisorFault: it is of another format than exports are, or refers to other files.
        """
        if form not in _FORMATS:
            raise CannotDo(f"handed over: expected a disk as {' or '.join(_FORMATS)}, found {form!r}")
        if form != "raw":
            self.examine(path)
        # The content of a raw disk is its guest's, and never decides what it is.
        return ImageFile(path=path, format=form)

    def put_layer(self, layer: Path, image: ImageFile, *, size_mib: int) -> None:
        """Make a qcow2 layer upon an image; size 0: as large as the image."""
        size = [f"{size_mib}M"] if size_mib else []
        made = layer.with_suffix(".new")
        base = ["-F", image.format, "-b", str(Path(image.path).absolute())]
        run_tool((self.program, "create", "-q", "-f", "qcow2", *base, str(made), *size))
        made.replace(layer)

    def copy(self, source: ImageFile, target: ImageFile, *, into_existing: bool) -> None:
        """Copy a disk's present content, without backing files and internal snapshots, into another file."""
        ways = ["-n"] if into_existing else []
        formats = ("-f", source.format, "-O", target.format)
        command = (self.program, "convert", "-q", *ways, *formats, source.path, target.path)
        run_tool(command, timeout_seconds=_COPY_SECONDS)

    def kept(self, path: str) -> Sequence[str]:
        """Return the tags of the internal snapshots of a qcow2 at rest."""
        return [each["name"] for each in self._info(path).get("snapshots", ())]

    def keep(self, path: str, tag: str) -> None:
        """Make an internal snapshot of a qcow2 at rest, in place of an earlier one of this tag."""
        self.forget(path, tag)
        run_tool((self.program, "snapshot", "-q", "-c", tag, path))

    def bring_back(self, path: str, tag: str) -> None:
        """Revert a qcow2 at rest to a snapshot."""
        run_tool((self.program, "snapshot", "-q", "-a", tag, path))

    def forget(self, path: str, tag: str) -> None:
        """Delete a snapshot of a qcow2 at rest; a missing one is no error."""
        while tag in self.kept(path):
            run_tool((self.program, "snapshot", "-q", "-d", tag, path))

    def _info(self, path: str) -> dict[str, Any]:
        info: dict[str, Any] = json.loads(run_tool((self.program, "info", "-U", "--output=json", path)))
        return info
