"""Poison: values that no type should return, and a type that returns them wherever it is told to."""

import math
from asyncio import CancelledError
from collections import UserString
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from orchestrator.plugins.properties import Attribute
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure, Wait


class Mute(Exception):
    """Its message cannot be read."""

    def __str__(self) -> str:
        raise ValueError("no words")


class Moody(dict[str, Any]):
    """A map that fails its reader."""

    def items(self) -> Any:
        raise RuntimeError("not now")


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def multiplied() -> list[Any]:
    """A small object that is gigabytes when it is written down."""
    value: list[Any] = [1]
    for _ in range(40):
        value = [value, value]
    return value


#: What no place takes, by what the sentence says of it.
VALUES: dict[str, tuple[Callable[[], Any], str]] = {
    "half a character": (lambda: "a\ud800b", "half of a surrogate pair"),
    "a key that is a list": (lambda: {(1, 2): 3}, "a key that is tuple"),
    "a key that is a number": (lambda: {1: 2}, "a key that is int"),
    "a key that is half a character": (lambda: {"\udfff": 1}, "half of a surrogate pair"),
    "no number": (lambda: math.nan, "not finite"),
    "infinity": (lambda: [math.inf], "not finite"),
    "a large number": (lambda: 2**64, "does not fit 64 bits"),
    "an object": (object, "can not serialize 'object'"),
    "a set": (lambda: {"a": {1}}, "can not serialize 'set'"),
    "what is too deep": (lambda: nested(201), "deeper than 200 maps and lists"),
    "what is too deep for any reader": (lambda: nested(5000), "deeper than 200 maps and lists"),
    "what contains itself": (endless, "deeper than 200 maps and lists"),
    "what is too large": (lambda: "x" * 20_000, "more than 10000 bytes"),
    "what is too large when written down": (multiplied, "more than 10000 bytes"),
    "what cannot be read": (lambda: Moody(a=1), "it cannot be read: RuntimeError"),
}


#: What is no id.
IDS: dict[str, tuple[Callable[[], Any], str]] = {
    "no character": (lambda: "a\0b", "text with characters that are none"),
    "half a character": (lambda: "a\ud800b", "text with characters that are none"),
    "a number": (lambda: 17, "int"),
    "a large number": (lambda: 2**70, "int"),
    "bytes": (lambda: b"a", "bytes"),
    "a map": (lambda: {(1, 2): 3}, "dict"),
    "another text": (lambda: UserString("a"), "UserString"),
    "what is too large": (lambda: "x" * 5_000, "more than"),
}


#: Errors without a usable message: the event has some reason all the same.
REASONS: dict[str, tuple[Callable[[], Any], str]] = {
    "no character": (lambda: ResourceFailure("a\0b"), "a\\u0000b"),
    "half a character": (lambda: ResourceFailure("a\ud800b"), "a\\ud800b"),
    "of another library": (lambda: RuntimeError("a\0\udfffb"), "RuntimeError: a\\u0000\\udfffb"),
    "no text": (lambda: ResourceFailure(17), "17"),
    "no words": (Mute, "Mute, whose message cannot be read: ValueError"),
    "very many words": (lambda: RuntimeError("x" * 1_000_000), "RuntimeError: xxx"),
    "a cancelled task": (lambda: CancelledError("a\0b"), "CancelledError: a\\u0000b"),
}


class Poisonous(Resource):
    """A resource type that leaves a given value in a given place."""

    attributes_schema: ClassVar[Mapping[str, Attribute]] = {"it": Attribute(description="anything")}
    place: ClassVar[str] = ""
    value: ClassVar[Callable[[], Any]]
    deleted: ClassVar[list[str | None]] = []

    def _leave(self, place: str) -> bool:
        if self.place != place:
            return False
        value = type(self).value()
        if isinstance(value, BaseException):
            raise value
        return True

    def handle_create(self) -> Any:
        self.state.physical_id = "made"
        if self._leave("physical id"):
            self.state.physical_id = type(self).value()
        if self._leave("physical id, then a failure"):
            self.state.physical_id = type(self).value()
            raise ResourceFailure("and then it failed")
        if self._leave("node"):
            self.state.on_node = type(self).value()
        if self._leave("data"):
            self.state.data["it"] = type(self).value()
        if self._leave("data, then a failure"):
            self.state.data["it"] = type(self).value()
            raise ResourceFailure("and then it failed")
        if self._leave("all data"):
            self.state.data = type(self).value()
        if self._leave("metadata"):
            self.state.metadata["deep"]["it"] = type(self).value()
        if self._leave("state"):
            self.state = type(self).value()
        self._leave("reason")
        return type(self).value() if self._leave("token") else None

    def check_create_complete(self, token: Any) -> bool | Wait:
        if self._leave("seconds"):
            return Wait(type(self).value())
        if self.place in ("token", "data, waiting"):
            if self._leave("data, waiting"):
                self.state.data["it"] = type(self).value()
            return Wait(1)
        if self._leave("next token"):
            return Wait(1, type(self).value())
        return True

    def reference_id(self) -> Any:
        return type(self).value() if self._leave("reference") else super().reference_id()

    def attribute(self, name: str) -> Any:
        return type(self).value() if self._leave("attribute") else name

    def handle_snapshot(self) -> Any:
        return type(self).value() if self._leave("entry") else None

    def handle_signal(self, details: Mapping[str, Any]) -> Any:
        if self._leave("signal"):
            self.state.metadata["it"] = type(self).value()
        if self._leave("words of a signal"):
            return type(self).value()
        return "signalled"

    def handle_check(self) -> Any:
        self._leave("check")

    def handle_delete(self) -> None:
        self.deleted.append(self.state.physical_id)
        if self._leave("data of a deletion"):
            self.state.data["it"] = type(self).value()


TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  it: {type: Poisonous, metadata: {deep: {}}}
  after: {type: Cloud::Object, properties: {value: {get_attr: [it, it]}}}
outputs:
  of_it: {value: {get_attr: [it, it]}}
"""


PLACES = [
    *(
        (place, kind)
        for place in ("data", "all data", "data, waiting", "token", "next token")
        for kind in VALUES
    ),
    *((place, kind) for place in ("attribute", "reference", "data, then a failure") for kind in VALUES),
    *((place, kind) for place in ("physical id", "physical id, then a failure", "node") for kind in IDS),
    *(("reason", kind) for kind in REASONS),
]


KINDS: dict[str, dict[str, tuple[Callable[[], Any], str]]] = {
    "physical id": IDS,
    "physical id, then a failure": IDS,
    "node": IDS,
    "reason": REASONS,
}
