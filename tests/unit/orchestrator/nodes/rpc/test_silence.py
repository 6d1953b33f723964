"""Who did not answer is left alone for a moment: those who want something of it do not all wait in a row."""

import pytest

from cache.node_state.errors import NodeTimeout
from orchestrator.nodes.rpc.silence import SILENT_SECONDS, Silences


def is_refused(silences: Silences, node: str, incarnation: str) -> bool:
    try:
        silences.refuse(node, incarnation)
    except NodeTimeout as error:
        return str(error) == "node 'n1' did not answer"
    return False


@pytest.mark.parametrize(
    ("node", "incarnation", "seconds_later", "refused"),
    [
        ("n1", "1", 0.0, True),
        ("n1", "1", SILENT_SECONDS - 0.1, True),
        ("n1", "1", SILENT_SECONDS, False),
        ("n1", "2", 0.0, False),
        ("n2", "1", 0.0, False),
    ],
    ids=["at once", "soon", "later", "the next agent", "another node"],
)
def test_who_is_left_alone(node: str, incarnation: str, seconds_later: float, refused: bool) -> None:
    now = [100.0]
    silences = Silences(lambda: now[0])
    silences.note("n1", "1", NodeTimeout("n1", "node 'n1' did not answer"))
    now[0] += seconds_later
    assert is_refused(silences, node, incarnation) is refused


def test_an_answer_ends_it() -> None:
    silences = Silences()
    silences.note("n1", "1", NodeTimeout("n1", "node 'n1' did not answer"))
    silences.end("n1")
    assert not is_refused(silences, "n1", "1")
