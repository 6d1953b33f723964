"""Frozen values of the rooms through which every check goes."""

import dataclasses
import importlib
import inspect
import pkgutil
from dataclasses import fields

import pytest

ROOMS = (
    "orchestrator.store",
    "orchestrator.planning",
    "orchestrator.engine",
    "orchestrator.lifecycle",
    "orchestrator.nodes",
    "orchestrator.placement",
    "cache",
    "workers.check",
    "workers.agent",
)


#: Those that are changed, by what makes them alone.
CHANGED = {"_Part", "_Question", "_Marked", "CommonRecord", "NodeRecord", "Flight", "Delivery", "Journal"}


def values_in(room: str) -> list[type]:
    """Return the dataclasses that the modules of a room define, without those that are changed."""
    walked = pkgutil.walk_packages(importlib.import_module(room).__path__, f"{room}.")
    modules = [importlib.import_module(each.name) for each in walked if ".migrations." not in each.name]
    return [
        each
        for module in modules
        for each in vars(module).values()
        if inspect.isclass(each)
        and each.__module__ == module.__name__
        and dataclasses.is_dataclass(each)
        and each.__name__ not in CHANGED
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_values_have_slots_and_stay_as_they_are(room: str) -> None:
    """There are thousands of them, and a misspelt field is an error."""
    found = values_in(room)
    assert found
    assert not [each for each in found if "__slots__" not in vars(each) or "__dict__" in dir(each)]
    assert not [each for each in found if not each.__dataclass_params__.frozen]  # type: ignore[attr-defined]
    if room.startswith("orchestrator"):
        by_place = [each for each in found if not all(one.kw_only for one in fields(each))]
        assert not [each for each in by_place if len(fields(each)) > 2 and not each.__name__.startswith("_")]
