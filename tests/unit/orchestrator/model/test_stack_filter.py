"""The words of filters of stacks, and what they mean."""

import pytest

from orchestrator.errors import InvalidInput
from orchestrator.model.stack_filter import check_sort, states_of


def test_a_word_is_a_state_a_status_or_an_action_in_any_case() -> None:
    assert states_of(["create_failed"]) == (("CREATE", "FAILED"),)
    assert set(states_of(["Rollback"])) == {
        ("ROLLBACK", each) for each in ("IN_PROGRESS", "COMPLETE", "FAILED")
    }
    failed = states_of(["FAILED", "UPDATE_FAILED"])
    assert ("UPDATE", "FAILED") in failed
    assert {status for _, status in failed} == {"FAILED"}
    assert len(set(failed)) == len(failed)


@pytest.mark.parametrize(("word", "hint"), [("FALIED", "FAILED"), ("CREATE_FAILD", "CREATE_FAILED")])
def test_a_wrong_word_is_refused_with_the_nearest(word: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        states_of([word])
    (problem,) = caught.value.problems
    assert (problem.path, hint in problem.hint, repr(word) in problem.message) == ("state", True, True)
    with pytest.raises(InvalidInput, match="created_at"):
        check_sort(["created"])
