"""The disks of a server: from the properties to the request, and the rules for them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from orchestrator.definition import is_unknown
from orchestrator.plugins.properties import PropertyError

_OLD: Final = "block_device_mapping"
_NEW: Final = "block_device_mapping_v2"
#: What a disk may be made from: the property, and the name of such a source in the service.
_SOURCES: Final = {"volume_id": "volume", "snapshot_id": "snapshot", "image": "image"}
_KINDS: Final = (*_SOURCES, "swap_size", "ephemeral_size")
#: Properties that are sent as they are.
_AS_GIVEN: Final = (
    "device_name",
    "device_type",
    "disk_bus",
    "boot_index",
    "volume_size",
    "delete_on_termination",
)


def block_devices(properties: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the disks as the service takes them."""
    old = [_from_old(each) for each in properties[_OLD] or ()]
    devices = [*old, *(_from_new(each) for each in properties[_NEW] or ())]
    boots = any(each["boot_index"] == 0 for each in devices)
    if devices and properties["image"] and not boots:
        # Besides other disks, the one of the image must be named.
        image = {"source_type": "image", "destination_type": "local", "uuid": properties["image"]}
        devices.insert(0, {**image, "boot_index": 0, "delete_on_termination": True})
    return devices


def boots_from_volume(properties: Mapping[str, Any]) -> bool:
    """Return whether the first disk is a volume."""
    devices = block_devices(properties)
    return any(each["boot_index"] == 0 and each["destination_type"] == "volume" for each in devices)


def _from_old(given: Mapping[str, Any]) -> dict[str, Any]:
    # The first device boots, and the others do not: the old form has no order.
    index = 0 if given["device_name"] in ("vda", "/dev/vda") else -1
    return _from_new({"boot_index": index, "delete_on_termination": False, **_given(given)})


def _from_new(given: Mapping[str, Any]) -> dict[str, Any]:
    found = _given(given)
    device = {"boot_index": 0, **_source(found)}
    device |= {name: found[name] for name in _AS_GIVEN if name in found}
    return device


def _source(given: Mapping[str, Any]) -> dict[str, Any]:
    for name, source in _SOURCES.items():
        if name in given:
            kind = {"source_type": source, "destination_type": "volume", "uuid": given[name]}
            return {**kind, "delete_on_termination": False}
    local = {"source_type": "blank", "destination_type": "local", "boot_index": -1}
    local |= {"delete_on_termination": True}
    if "swap_size" in given:
        return {**local, "guest_format": "swap", "volume_size": given["swap_size"]}
    shape = {"guest_format": given["ephemeral_format"]} if "ephemeral_format" in given else {}
    size = {"volume_size": given["ephemeral_size"]} if "ephemeral_size" in given else {}
    return {**local, **shape, **size}


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None and value != ""}


def check_block_devices(properties: Mapping[str, Any]) -> None:
    """Check that each disk has one source, and that there is something to boot from.

    Raises:
        PropertyError: it is not so.
    """
    old, new = _known(properties[_OLD]), _known(properties[_NEW])
    if old and new:
        raise PropertyError((_NEW,), f"it cannot be given together with {_OLD}")
    for number, each in enumerate(old):
        _check_sources((_OLD, number), each, ("volume_id", "snapshot_id"))
    for number, each in enumerate(new):
        _check_sources((_NEW, number), each, _KINDS)
    unknown = is_unknown(properties["image"]) or is_unknown(properties[_OLD]) or is_unknown(properties[_NEW])
    if not properties["image"] and not unknown and not _is_bootable(old, new):
        raise PropertyError(("image",), "there must be an image, or a volume to boot from")


def _known(devices: Any) -> Sequence[Mapping[str, Any]]:
    return devices if isinstance(devices, (list, tuple)) else ()


def _check_sources(path: tuple[str, int], device: Any, names: Iterable[str]) -> None:
    if is_unknown(device):
        return
    names = list(names)
    found = [name for name in names if device[name] is not None and device[name] != ""]
    if not found:
        raise PropertyError(path, f"one of these is needed: {', '.join(names)}")
    if len(found) > 1:
        raise PropertyError(path, f"only one of these can be given: {', '.join(found)}")


def _is_bootable(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> bool:
    return any(each["device_name"] in ("vda", "/dev/vda") for each in old) or any(
        each[name] for each in new for name in _SOURCES
    )
