"""A virtual machine is taken in from an export that others may have written: its disks refer to no other files."""

import json
from pathlib import Path
from typing import Any

import pytest

from workers.agent.hypervisors.hypervisor import HypervisorFault, InstanceSpec
from workers.agent.hypervisors.qemu.hypervisor import Qemu
from workers.agent.hypervisors.qemu.virtual_machine import QemuOptions
from workers.agent.records import write_record

#: Says of every image what is in the file beside it, and writes down what it is to convert.
QEMU_IMG = """#!/bin/sh
case "$1" in
  info) cat "${0%/*}/info" ;;
  convert) echo "$@" >> "${0%/*}/converted" ;;
esac
"""


@pytest.fixture
def qemu(tmp_path: Path) -> Qemu:
    program = tmp_path / "qemu-img"
    program.write_text(QEMU_IMG)
    program.chmod(0o755)
    return Qemu(QemuOptions(image_program=str(program)), tmp_path / "qemu")


def take_in(qemu: Qemu, tmp_path: Path, form: str, info: dict[str, Any]) -> None:
    (tmp_path / "info").write_text(json.dumps(info))
    export = tmp_path / "export"
    export.mkdir(exist_ok=True)
    write_record(export / "qemu.json", {"disks": {"root": form}, "memory_mib": 64, "vcpus": 1})
    (export / f"root.{form}").write_text("")
    qemu.take_in(InstanceSpec(name="web", memory_mib=64, image="/images/web"), export)


@pytest.mark.parametrize(
    ("form", "info"),
    [
        ("vmdk", {"format": "vmdk"}),
        ("-x", {"format": "raw"}),
        ("qcow2", {"format": "qcow2", "backing-filename": "/etc/shadow"}),
        ("qcow2", {"format": "qcow2", "format-specific": {"data": {"data-file": "/etc/shadow"}}}),
    ],
)
def test_disk_that_refers_to_other_files_is_not_taken_in(
    qemu: Qemu, tmp_path: Path, form: str, info: dict[str, Any]
) -> None:
    with pytest.raises(HypervisorFault):
        take_in(qemu, tmp_path, form, info)
    assert not (tmp_path / "converted").exists()


@pytest.mark.parametrize(("form", "info"), [("raw", {"format": "vmdk"}), ("qcow2", {"format": "qcow2"})])
def test_disk_that_is_whole_is_taken_in_as_what_it_was_handed_over(
    qemu: Qemu, tmp_path: Path, form: str, info: dict[str, Any]
) -> None:
    take_in(qemu, tmp_path, form, info)
    assert f"-f {form} -O qcow2" in (tmp_path / "converted").read_text()
