"""Times in JSON."""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import orchestrator.views
from orchestrator.views.stacks import HookView, View
from orchestrator.views.times import is_time, iso


def views(kind: type[Any] = View) -> Iterator[type[Any]]:
    for module in pkgutil.iter_modules(orchestrator.views.__path__, "orchestrator.views."):
        importlib.import_module(module.name)
    for each in kind.__subclasses__():
        yield each
        yield from views(each)


FIELDS = sorted(
    {
        (kind, field.name)
        for kind in views()
        if is_dataclass(kind)
        for field in fields(kind)
        if str(field.type).startswith("float")
    },
    key=lambda each: (each[0].__name__, each[1]),
)
#: The numbers of views that are no times.
AMOUNTS = ("_seconds", "_minutes", "ratio", "x", "y", "seconds", "rate", "most", "used")


@pytest.mark.parametrize(("kind", "name"), FIELDS)
def test_every_number_of_a_view_is_a_time_or_an_amount(kind: type, name: str) -> None:
    assert is_time(name) != name.endswith(AMOUNTS), f"{kind.__name__}.{name}: name it so that it is known"


def test_times_are_text_and_what_users_named_so_is_not() -> None:
    hook = HookView(resource="a", uuid="1", kind="pre-create", since=1795372215.25)
    assert hook.to_dict()["since"] == "2026-11-22T18:30:15.250000Z"
    from orchestrator.views.stacks import ResourceView

    theirs: dict[str, Any] = {"created_at": 7, "at": [{"since": 8.5}]}
    shown = ResourceView(
        name="a",
        type="T",
        uuid="1",
        physical_id=None,
        action="CREATE",
        status="COMPLETE",
        attributes=theirs,
        created_at=0,
        updated_at=1,
    ).to_dict()
    assert shown["attributes"] == theirs
    assert (shown["created_at"], shown["updated_at"]) == (
        "1970-01-01T00:00:00.000000Z",
        "1970-01-01T00:00:01.000000Z",
    )


@given(st.floats(0, 4e9), st.floats(0, 4e9))
def test_texts_have_the_order_of_their_times(one: float, other: float) -> None:
    assert (iso(one) <= iso(other)) or one > other - 1e-6
