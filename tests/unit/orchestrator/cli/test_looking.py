"""Which graphs are looked at while a stack is followed, and how often."""

from orchestrator.cli.looking import LEAST_PAUSE_SECONDS, MOST_NESTED, PAUSE_FACTOR, Looker, look_at
from orchestrator.views.operations import GraphPicture
from tests.unit.orchestrator.cli.pictures import FakePictures, graph_picture, vertex


def test_stacks_that_are_worked_on_are_looked_into_and_others_are_not() -> None:
    outer = graph_picture(
        vertex("busy", "waiting", nested_stack_id="busy"),
        vertex("over", "done", nested_stack_id="over"),
        vertex("broken", "failed", nested_stack_id="broken"),
        vertex("gone", "running", nested_stack_id="gone"),
    )
    inner = graph_picture(vertex("deep", "running", nested_stack_id="deep"))
    held = {
        "web": outer,
        "busy": inner,
        "broken": graph_picture(),
        "deep": graph_picture(),
        "over": graph_picture(),
    }
    look = look_at(FakePictures(graphs=held).typed, "web")
    assert look is not None
    assert set(look.nested) == {"busy", "broken", "deep"}


def test_a_stack_that_is_gone_is_not_seen() -> None:
    assert look_at(FakePictures().typed, "web") is None


def test_no_more_stacks_are_looked_into_than_one_screen_shows() -> None:
    many = [vertex(f"v{number}", "running", nested_stack_id=f"s{number}") for number in range(100)]
    held = {"web": graph_picture(*many)} | {f"s{number}": graph_picture() for number in range(100)}
    pictures = FakePictures(graphs=held)
    look = look_at(pictures.typed, "web")
    assert look is not None
    assert len(look.nested) == MOST_NESTED
    assert len(pictures.asked) == MOST_NESTED + 1


def test_looking_takes_a_small_part_of_the_time() -> None:
    now = 100.0

    class Slow(FakePictures):
        def graph(self, name: str, /) -> GraphPicture:
            nonlocal now
            now += 2.0
            return super().graph(name)

    pictures = Slow(graphs={"web": graph_picture()})
    looker = Looker(pictures.typed, "web", clock=lambda: now)
    first = looker.look()
    now += 2.0 * PAUSE_FACTOR - 0.1
    assert looker.look() is first
    assert pictures.asked == ["web"]
    now += 0.2
    looker.look()
    assert pictures.asked == ["web"] * 2


def test_a_fast_look_is_taken_again_after_the_least_pause() -> None:
    now = 0.0
    pictures = FakePictures(graphs={"web": graph_picture()})
    looker = Looker(pictures.typed, "web", clock=lambda: now)
    looker.look()
    now = LEAST_PAUSE_SECONDS / 2
    looker.look()
    assert pictures.asked == ["web"]
    now = LEAST_PAUSE_SECONDS
    looker.look()
    assert pictures.asked == ["web"] * 2
