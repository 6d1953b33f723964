"""A stack is watched from its first event to its last."""

import pytest

from tests.browser.conftest import Visiting
from tests.browser.site import Site, layers
from tests.waiting import until

pytestmark = pytest.mark.slow

#: How many resources it has, the one at the gate besides.
WIDTH, DEEP = 30, 10


def test_a_large_stack_is_watched_from_the_first_to_the_last_event(site: Site, visit: Visiting) -> None:
    stack = site.gated("large", layers(WIDTH, DEEP))
    total = WIDTH * DEEP + 1
    with visit() as seen:
        seen.open("/stack/large/graph")
        seen.until_legend(blocked=total - 1, held=1)
        before = site.event_ids(stack)
        seen.add_up()
        seen.compare()
        site.let_on(stack)
        seen.until_legend(done=total)
        seen.until_stack("CREATE_COMPLETE")
        # No picture in between lost a resource, or had one twice.
        assert seen.sums() == [total]
        # The head and the legend never had different numbers.
        assert seen.differences() == []
        # The last event may come after the picture of its end.
        until(lambda: seen.told()[-1:] == site.event_ids(stack)[-1:])
        told = [each for each in seen.told() if each > before[-1]]
        assert told == [each for each in site.event_ids(stack) if each > before[-1]]
        # Among them is the end of each resource; on a busy machine one may have been begun more than once.
        ends = (
            "SELECT id, resource FROM event WHERE stack_id = %s AND action = 'CREATE' AND status = 'COMPLETE'"
        )
        ended = {
            resource for number, resource in site.rows(ends, stack.id) if resource and number in set(told)
        }
        assert len(ended) == total
        assert seen.legend() == {state: number for state, number in site.states(stack).items() if number}
        assert seen.text("#stack-percent").startswith("100")
        assert str(total) in seen.text("#stack-counts")
        assert seen.page.evaluate("() => window.resyncs") == 0
