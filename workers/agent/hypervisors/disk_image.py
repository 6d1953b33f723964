"""Images of disks, by qemu-img: what they are, layers upon them, what is kept in them, and copies."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workers.agent.hypervisors.hypervisor import CannotDo, HypervisorFault
from workers.agent.hypervisors.tool import run_tool

_COPY_SECONDS: Final = 4 * 3600.0
#: Formats that hold all there is in one file, if they refer to no other.
_FORMATS: Final = ("raw", "qcow2")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFile:
    """A file that holds a disk."""

    path: str
    format: str


@dataclass(frozen=True, slots=True)
class DiskImages:
    """Images, by the program ``qemu-img``."""

    program: str

    def examine(self, path: str) -> ImageFile:
        """Return what kind of image somebody else's file is.

        Raises:
            HypervisorFault: there is none, or it refers to other files, which might be anybody's.
        """
        if not Path(path).exists():
            raise HypervisorFault(f"image: there is no {path}")
        told = self._info(path)
        if told["format"] not in _FORMATS:
            raise CannotDo(f"image: expected one of {', '.join(_FORMATS)}, found {told['format']}")
        inside = told.get("format-specific", {}).get("data", {})
        if "backing-filename" in told or "data-file" in inside:
            raise CannotDo("image: it refers to another file, expected one that holds all of itself")
        return ImageFile(path=path, format=told["format"])

    def put_layer(self, layer: Path, image: ImageFile, *, size_mib: int) -> None:
        """Make a qcow2 that holds what differs from an image; size 0: as large as that."""
        size = [f"{size_mib}M"] if size_mib else []
        made = layer.with_suffix(".new")
        base = ["-F", image.format, "-b", str(Path(image.path).absolute())]
        run_tool((self.program, "create", "-q", "-f", "qcow2", *base, str(made), *size))
        made.replace(layer)

    def copy(self, source: ImageFile, target: ImageFile, *, into_existing: bool) -> None:
        """Write a disk as it is now, without what lies below it or is kept in it, into another file."""
        ways = ["-n"] if into_existing else []
        formats = ("-f", source.format, "-O", target.format)
        command = (self.program, "convert", "-q", *ways, *formats, source.path, target.path)
        run_tool(command, timeout_seconds=_COPY_SECONDS)

    def kept(self, path: str) -> Sequence[str]:
        """Return the tags under which states of a qcow2 at rest are kept."""
        return [each["name"] for each in self._info(path).get("snapshots", ())]

    def keep(self, path: str, tag: str) -> None:
        """Keep the state of a qcow2 at rest, in place of what was kept under this tag."""
        self.forget(path, tag)
        run_tool((self.program, "snapshot", "-q", "-c", tag, path))

    def bring_back(self, path: str, tag: str) -> None:
        """Bring a qcow2 at rest back to what was kept."""
        run_tool((self.program, "snapshot", "-q", "-a", tag, path))

    def forget(self, path: str, tag: str) -> None:
        """Delete what was kept under a tag of a qcow2 at rest; nothing is no error."""
        while tag in self.kept(path):
            run_tool((self.program, "snapshot", "-q", "-d", tag, path))

    def _info(self, path: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(run_tool((self.program, "info", "-U", "--output=json", path)))
        return told
