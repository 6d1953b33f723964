"""Options are shown with their types and defaults, and what may be a secret is not shown."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr

from hooks.options import HookOptions
from orchestrator.documentation.hook_options import OptionView, options_of


class Door(BaseModel):
    """A table in a table."""

    colour: Literal["red", "blue"] = "red"
    inner: "Door | None" = None


class HouseOptions(HookOptions):
    """One of each kind."""

    rooms: int = Field(description="How many\nrooms.")
    heated: bool = True
    url: str = "http://localhost"
    names: tuple[str, ...] = ()
    key: SecretStr = SecretStr("a secret by default")
    keys: tuple[SecretStr, ...] = ()
    api_token: str = ""
    key_file: Path | None = None
    headers: dict[str, str] = {}
    door: Door = Door()
    doors: dict[str, Door] = {}
    walls: list[Door] = []
    height: int | str = 3


def options(said: dict[str, Any]) -> dict[str, OptionView]:
    return {option.name: option for option in options_of(HouseOptions, said)}


def test_every_option_has_its_type_its_default_and_its_description() -> None:
    found = options({})
    assert {name: option.type for name, option in found.items() if name.count(".") < 2} == {
        "rooms": "integer",
        "heated": "boolean",
        "url": "text",
        "names": "list of text",
        "key": "secret",
        "keys": "secret list",
        "api_token": "text",
        "key_file": "path",
        "headers": "table of text",
        "door": "table",
        "door.colour": "one of red, blue",
        "door.inner": "table",
        "doors": "table of table",
        "walls": "list of table",
        "height": "integer or text",
    }
    assert found["rooms"].required
    assert found["rooms"].description == "How many rooms."
    assert (found["url"].required, found["url"].default) == (False, "http://localhost")
    assert found["doors.NAME.colour"].default == found["walls.*.colour"].default == "red"


def test_a_table_that_may_be_in_itself_is_shown_to_some_depth() -> None:
    assert 0 < max(name.count(".") for name in options({})) < 10


def test_what_the_settings_say_is_shown_unless_it_may_be_a_secret() -> None:
    secret = "hunter2"
    said = {
        "rooms": 4,
        "heated": False,
        "url": f"https://me:{secret}@host/path?token={secret}",
        "names": ["a", "b"],
        "key": secret,
        "keys": [secret],
        "api_token": secret,
        "key_file": "/etc/isotherm/key",
        "headers": {"Authorization": secret, "others": [secret]},
        "door": {"colour": "blue", "unknown": {"deep": secret}},
        "walls": [{"colour": secret}],
        "no_such_option": secret,
    }
    found = options(said)
    assert secret not in json.dumps([asdict(option) for option in found.values()])
    assert "a secret by default" not in json.dumps([asdict(option) for option in found.values()])
    assert {name: option.said for name, option in found.items() if option.said is not None} == {
        "rooms": 4,
        "heated": False,
        "url": "https://******@host/path?******",
        "names": ["a", "b"],
        "key": "******",
        "keys": ["******"],
        "api_token": "******",
        "key_file": "/etc/isotherm/key",
        "headers": {"Authorization": "******", "others": ["******"]},
        "door": {"colour": "******", "unknown": {"deep": "******"}},
        "door.colour": "blue",
        "walls": [{"colour": "******"}],
    }


class Odd:
    """A type that JSON cannot say."""


class OddOptions(HookOptions):
    """Options of such a type."""

    model_config = {"arbitrary_types_allowed": True}
    odd: Annotated[Odd | None, Field(description="Odd.")] = None
    rooms: int


@pytest.mark.parametrize("said", [{}, {"odd": "hunter2"}], ids=["nothing said", "said"])
def test_options_of_odd_types_are_shown_by_name(said: dict[str, Any]) -> None:
    found = options_of(OddOptions, said)
    assert [(each.name, each.required, each.description) for each in found] == [
        ("odd", False, "Odd."),
        ("rooms", True, ""),
    ]
    assert found[0].said == ("******" if said else None)
