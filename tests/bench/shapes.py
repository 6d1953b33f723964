"""The stacks that are measured: N resources that do nothing, in four shapes."""

from collections.abc import Callable, Mapping

Requires = Callable[[int, int], list[int]]


def _wide(_number: int, _size: int) -> list[int]:
    return []


def _chain(number: int, _size: int) -> list[int]:
    return [number - 1] if number else []


def _layers(number: int, size: int) -> list[int]:
    """Ten layers; every resource requires three of the layer below."""
    width = max(1, size // 10)
    layer, place = divmod(number, width)
    return sorted({(layer - 1) * width + (place + step) % width for step in range(3)}) if layer else []


def _fan_in(number: int, size: int) -> list[int]:
    """The last requires all others."""
    return list(range(size - 1)) if number == size - 1 else []


SHAPES: Mapping[str, Requires] = {"wide": _wide, "chain": _chain, "layers": _layers, "fan-in": _fan_in}


def template(shape: str, size: int) -> str:
    """Return a template of ``size`` resources in a shape."""
    requires = SHAPES[shape]
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    for number in range(size):
        others = ", ".join(f"r{other}" for other in requires(number, size))
        depends = f", depends_on: [{others}]" if others else ""
        lines.append(f"  r{number}: {{type: 'OS::Heat::None'{depends}}}")
    return "\n".join([*lines, ""])
