"""What reading a template costs: parse, examine and plan, in two sizes; the ratio says whether it is linear.

Run as ``python -m tests.bench.language``, or by ``make bench`` before the engine's own measurements. Nothing is stored
or sent: what is measured is what a coordinator does between taking a job and its first transaction.
"""

import gc
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rich.console import Console

from orchestrator.config.settings import Settings
from orchestrator.model.messages import StackJob
from orchestrator.planning.preparation import plan_job
from orchestrator.plugins.registry import ResourceTypes
from tests.bench.shapes import template as shaped

SIZES: Final = (1_000, 10_000)
#: The best of so many runs counts, each with the garbage of the one before collected.
RUNS: Final = 5
RESULT: Final = Path("build") / "bench-language.json"


def _called(size: int) -> str:
    """Return resources with calls and conditions in them, each requiring the one a hundred before it."""
    lines = [
        "heat_template_version: wallaby",
        "parameters: {env: {type: string, default: prod}, names: {type: comma_delimited_list, default: 'a,b'}}",
        "conditions: {is_prod: {equals: [{get_param: env}, prod]}, small: {not: is_prod}}",
        "resources:",
    ]
    for number in range(size):
        before = f"{{get_attr: [r{number - 100}, value]}}" if number >= 100 else "first"
        lines += [
            f"  r{number}:",
            "    type: OS::Heat::Value",
            "    properties:",
            "      value:",
            f"        before: {before}",
            f"        text: {{str_replace: {{template: name-of-N, params: {{N: '{number}'}}}}}}",
            "        joined: {list_join: ['-', {get_param: names}, [x]]}",
            "        chosen: {if: [is_prod, {if: [small, 1, 2]}, {get_resource: nobody}]}",
        ]
    lines += ["outputs:", f"  last: {{value: {{get_attr: [r{size - 1}, value]}}}}"]
    return "\n".join([*lines, ""])


SHAPES: Final[Mapping[str, Callable[[int], str]]] = {
    "layers": lambda size: shaped("layers", size),
    "calls": _called,
}


def seconds(source: str) -> float:
    """Return how long it takes to parse a template, to examine it whole and to plan its creation."""
    types, settings = ResourceTypes.load(), Settings()
    best = float("inf")
    for _ in range(RUNS):
        gc.collect()
        started = time.perf_counter()
        plan_job(StackJob(name="s", template=source), types, settings)
        best = min(best, time.perf_counter() - started)
    return best


def measure() -> list[dict[str, object]]:
    """Return one row for each shape: seconds for each size, and the last as a multiple of the first."""
    rows: list[dict[str, object]] = []
    for shape, template in SHAPES.items():
        took = {size: seconds(template(size)) for size in SIZES}
        row: dict[str, object] = {"shape": shape}
        row |= {f"seconds_{size}": round(value, 4) for size, value in took.items()}
        row["ratio"] = round(took[SIZES[-1]] / took[SIZES[0]], 2)
        rows.append(row)
    return rows


def main() -> None:
    """Measure, print, and keep the rows."""
    rows = measure()
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(rows, indent=1) + "\n")
    say = Console(highlight=False).print
    say("language: parse + examine + plan")
    for row in rows:
        say("  ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
