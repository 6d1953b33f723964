"""Tags are short words without what separates them, each once, in the order in which they were given."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.settings import Settings
from orchestrator.engine.stack_preview import preview_job
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.model.tags import LONGEST_TAG, MOST_TAGS, are_tags, check_tags, has_tags, is_tag, read_tags
from orchestrator.planning.preparation import prepare

TAGS = st.lists(st.text("ab é", min_size=1, max_size=4).map(str.strip).filter(bool), max_size=6)
EMPTY = "heat_template_version: 2021-04-16\n"


@given(TAGS)
def test_what_is_written_with_commas_is_read(tags: list[str]) -> None:
    assert read_tags(" , ".join(tags)) == tuple(dict.fromkeys(tags))


@given(st.text(max_size=100))
def test_what_is_read_can_be_a_stacks_tags(text: str) -> None:
    try:
        tags = read_tags(text)
    except ValueError:
        return
    assert are_tags(tags)
    check_tags(tags)


@pytest.mark.parametrize("tag", ["", "a,b", "a/b", "x" * (LONGEST_TAG + 1), 5, None, ["a"]])
def test_what_is_no_tag_is_refused(tag: Any) -> None:
    assert not is_tag(tag)
    with pytest.raises(InvalidInput) as refused:
        check_tags(["fine", tag])
    (problem,) = refused.value.problems
    assert problem.path == "tags.1"
    assert "1 to 80 characters" in problem.message


@pytest.mark.parametrize("tag", ["a", "x" * LONGEST_TAG, "prod eu", "über", "a:b=c"])
def test_what_is_a_tag_is_taken(tag: str) -> None:
    check_tags([tag])
    assert StackJob.from_wire({"name": "s", "template": EMPTY, "tags": [tag]}).tags == (tag,)


@pytest.mark.parametrize("tags", ["prod", 5, {"a": 1}, ["a"] * (MOST_TAGS + 1), ["a/b"], [None]])
def test_a_job_with_what_are_no_tags_is_refused(tags: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        StackJob.from_wire({"name": "s", "template": EMPTY, "tags": tags})
    assert [problem.path for problem in refused.value.problems] == ["tags"]
    job = StackJob(name="s", template=EMPTY, tags=tags)
    for examine in (lambda: prepare(job, {}, Settings()), lambda: preview_job(job, Settings())):
        with pytest.raises(InvalidInput) as refused:
            examine()
        assert all(problem.path.startswith("tags") for problem in refused.value.problems)


def test_a_job_says_nothing_of_tags_or_takes_them_all_away() -> None:
    assert StackJob.from_wire({"name": "s", "template": EMPTY}).tags is None
    assert StackJob.from_wire({"name": "s", "template": EMPTY, "tags": None}).tags is None
    assert StackJob.from_wire({"name": "s", "template": EMPTY, "tags": []}).tags == ()
    assert StackJob.from_wire({"name": "s", "template": EMPTY, "tags": ["b", "a", "b"]}).tags == ("b", "a")


@pytest.mark.parametrize(
    ("every", "some", "fits"),
    [
        ((), (), True),
        (("a",), (), True),
        (("a", "b"), (), True),
        (("a", "c"), (), False),
        ((), ("c", "b"), True),
        ((), ("c",), False),
        (("a",), ("c", "b"), True),
        (("c",), ("a",), False),
    ],
)
def test_a_stack_is_found_by_all_or_any_of_its_tags(
    every: tuple[str, ...], some: tuple[str, ...], fits: bool
) -> None:
    assert has_tags(("a", "b"), every=every, some=some) is fits
