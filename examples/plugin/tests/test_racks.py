"""The package's own tests: plugins are given plain values, so nothing of Isotherm has to run."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError
from racks.book import Book
from racks.box import Box
from racks.journal import Journal, JournalOptions
from racks.places import Racks, RacksOptions

from isotherm.hooks import (
    COMPLETE,
    FAILED,
    Event,
    FrozenResource,
    FrozenStack,
    LifecycleContext,
    Refusal,
)
from isotherm.testing import EventSinkConformance, LifecycleConformance, ResourceConformance

BEFORE = LifecycleContext(operation_id="1", project="default")


def after(outcome: str, operation: str = "1") -> LifecycleContext:
    return LifecycleContext(operation_id=operation, project="default", outcome=outcome)


def stack(*boxes: str, made: bool = False) -> FrozenStack:
    """Return a stack of boxes, and of one resource that is none."""
    resources = {
        name: FrozenResource(name=name, type="Racks::Box", physical_id=name if made else None)
        for name in boxes
    }
    other = FrozenResource(name="other", type="OS::Heat::None")
    return FrozenStack(name="boxes", id="s1", resources={**resources, "other": other})


@pytest.fixture
def plugin(tmp_path: Path) -> Racks:
    """Two racks, of two places and of one."""
    return Racks(RacksOptions(book=tmp_path / "book.json", racks={"a": 2, "b": 1}))


def taken(tmp_path: Path) -> dict[str, str]:
    return {box: place.rack for (_, box), place in Book(tmp_path / "book.json").read().items()}


def test_every_box_is_told_its_rack_and_keeps_it(plugin: Racks, tmp_path: Path) -> None:
    said = plugin.do_pre_op(BEFORE, stack("x", "y", "z"), None, "CREATE")
    assert said is not None
    assert said.resources == {"x": {"rack": "a"}, "y": {"rack": "a"}, "z": {"rack": "b"}}
    assert said.warnings == ["only 0 places are free afterwards"]
    # A coordinator died, and another asks again.
    assert plugin.do_pre_op(BEFORE, stack("x", "y", "z"), None, "CREATE") == said
    assert taken(tmp_path) == {"x": "a", "y": "a", "z": "b"}


def test_what_does_not_fit_is_refused_and_takes_no_place(plugin: Racks, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="no place left for box 'z': all 3 are taken"):
        plugin.do_pre_op(BEFORE, stack("w", "x", "y", "z"), None, "CREATE")
    assert taken(tmp_path) == {}


def test_a_preview_says_the_same_and_takes_nothing(plugin: Racks, tmp_path: Path) -> None:
    assert plugin.do_preview(BEFORE, stack("x"), None, "CREATE").resources == {"x": {"rack": "a"}}
    assert taken(tmp_path) == {}


def test_a_failure_gives_back_what_was_not_made(plugin: Racks, tmp_path: Path) -> None:
    plugin.do_pre_op(BEFORE, stack("x", "y"), None, "CREATE")
    plugin.do_post_op(after(FAILED), stack("x", "y"), stack("x", made=True), "CREATE", is_stack_failure=True)
    assert taken(tmp_path) == {"x": "a"}


def test_an_operation_gives_back_nothing_that_a_later_one_found(plugin: Racks, tmp_path: Path) -> None:
    plugin.do_pre_op(BEFORE, stack("x"), None, "CREATE")
    later = LifecycleContext(operation_id="2", project="default")
    plugin.do_pre_op(later, stack("x"), stack("x"), "UPDATE")
    plugin.do_post_op(after("superseded"), stack("x"), stack("x"), "CREATE", is_stack_failure=True)
    assert taken(tmp_path) == {"x": "a"}
    plugin.do_post_op(after(COMPLETE, "2"), stack("x"), None, "DELETE", is_stack_failure=False)
    assert taken(tmp_path) == {}


def test_a_full_rack_keeps_nobody_from_going(plugin: Racks, tmp_path: Path) -> None:
    plugin.do_pre_op(BEFORE, stack("x", "y", "z"), None, "CREATE")
    other = FrozenStack(name="other", id="s2", resources=stack("w", made=True).resources)
    later = LifecycleContext(operation_id="2", project="default")
    assert plugin.do_pre_op(later, other, other, "DELETE") is None
    assert taken(tmp_path) == {"x": "a", "y": "a", "z": "b"}


def test_what_the_settings_say_is_checked(tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        RacksOptions.model_validate({"book": tmp_path, "racks": {"a": 0}})


def event(number: int) -> Event:
    return Event(
        id=number,
        at=0.0,
        stack_id="s1",
        stack_name="boxes",
        project="default",
        operation_id="1",
        resource="x",
        resource_id="r1",
        type="Racks::Box",
        action="CREATE",
        status="COMPLETE",
    )


def test_the_journal_has_every_event_once_whatever_comes_again(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    journal = Journal(JournalOptions(file=file))
    journal.consume([event(1), event(2)])
    # The process died in the middle of the third line, and then nobody remembered that it had written the second.
    file.write_text(file.read_text() + '{"id": 3, "at"')
    Journal(JournalOptions(file=file)).consume([event(2), event(3)])
    assert [line[:9] for line in file.read_text().splitlines()] == ['{"id": 1,', '{"id": 2,', '{"id": 3,']


class TestBox(ResourceConformance):
    """The type goes where the plugin says, in the real engine."""

    type = Box
    changes = {"label": "hats"}
    exists_outside = False

    @pytest.fixture(autouse=True)
    def _plugins(self, plugin: Racks) -> None:
        # As its entry point calls it: under that name the type finds what it said.
        plugin.name = "racks"
        self.plugins = (plugin,)


class TestRacks(LifecycleConformance):
    plugin = Racks
    stack = stack("x", "y")

    @pytest.fixture(autouse=True)
    def _book(self, tmp_path: Path) -> None:
        self.book = Book(tmp_path / "book.json")
        self.options = {"book": tmp_path / "book.json", "racks": {"a": 2, "b": 1}}

    def kept(self) -> dict[tuple[str, str], str]:
        return {box: place.rack for box, place in self.book.read().items()}


class TestJournal(EventSinkConformance):
    sink = Journal

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "journal"
        self.options = {"file": self.file}

    def received(self) -> list[int]:
        return [json.loads(line)["id"] for line in self.file.read_text().splitlines()]
