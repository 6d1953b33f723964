"""Something dies, and pages tell the truth: that their data are old, and then what happened meanwhile."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visiting
from tests.browser.site import Site, layers, nothing
from tests.faults.statement_stop import stop_before
from tests.services.servers import PostgresServer, RedisServer
from tests.waiting import until

pytestmark = pytest.mark.slow

#: What a browser says by itself of an address that does not answer.
UNREACHED = ("Failed to load resource", "ERR_CONNECTION", "ERR_INCOMPLETE_CHUNKED_ENCODING")


def test_a_dashboard_that_was_killed_has_missed_nothing(site: Site, visit: Visiting) -> None:
    width, deep = 10, 4
    total = width * deep + 1
    stack = site.gated("surviving", layers(width, deep))
    with visit(expected=UNREACHED) as seen:
        seen.open("/stack/surviving/graph")
        seen.until_legend(blocked=total - 1, held=1)
        before = site.event_ids(stack)
        with site.without_dashboard():
            seen.until_data("reconnecting", "stale")
            site.let_on(stack)
            assert site.ended(stack.id).state == "CREATE_COMPLETE"
            # What is shown is as old as it says.
            assert seen.legend() == {"blocked": total - 1, "held": 1}
        seen.until_data()
        seen.until_legend(done=total)
        seen.until_stack("CREATE_COMPLETE")
        told = [each for each in seen.told_to_the_last(stack) if each > before[-1]]
        assert told == [each for each in site.event_ids(stack) if each > before[-1]]


def test_an_emptied_redis_costs_a_page_nothing(site: Site, visit: Visiting) -> None:
    width, deep = 20, 10
    total, last = width * deep + 1, f"r{deep - 1}-0"
    stack = site.gated("flushed", layers(width, deep), held=(last,))
    with visit() as seen:
        seen.open("/stack/flushed/graph")
        seen.until_legend(blocked=total - 1, held=1)
        site.let_on(stack)
        site.until_done(stack.id, width)
        with site.broker() as broker:
            broker.flushdb()
        site.release(stack.id, last)
        assert site.ended(stack.id).state == "CREATE_COMPLETE"
        seen.until_legend(done=total)
        seen.until_stack("CREATE_COMPLETE")
        assert seen.legend() == {state: number for state, number in site.states(stack).items() if number}
        assert seen.page.locator("#as-of").get_attribute("data-state") == "live"


def test_a_worker_that_was_killed_is_seen_to_be_lost(site: Site, visit: Visiting) -> None:
    stack = site.gated("bereft", {"busy": nothing(), "reader": nothing(depends_on="busy")})
    is_made = "NEW.name = 'busy' AND NEW.status = 'COMPLETE'"
    database_url = site.settings.database_url
    with visit() as seen, stop_before(database_url, "resource", "UPDATE", is_made) as stop:
        seen.open("/stack/bereft/graph?view=list")
        seen.until_legend(blocked=2, held=1)
        site.let_on(stack)
        at_work = "SELECT worker FROM node WHERE traversal_id = %s AND key = 'busy' AND state = 'running'"
        ((holder,),) = until(lambda: site.rows(at_work, stack.traversal_id))
        with site.without(site.named(holder)):
            stop.end()
            seen.until_legend(done=3)
        row = seen.page.locator("#graph-list tr", has_text="busy")
        seen.until("(row) => row.innerText.includes('done')", row.element_handle())
        # It was begun twice, by two processes; the second is the one that is told.
        assert "2" in row.locator("td.number").all_inner_texts()
        assert holder not in row.inner_text()
        lost = site.rows("SELECT reason FROM event WHERE stack_id = %s AND cause = 'lost'", stack.id)
        assert len(lost) == 1
        seen.open("/stack/bereft/events")
        seen.until(
            "(reason) => document.getElementById('stacks-page').innerText.includes(reason)", lost[0][0]
        )
        # Its processes are told apart from those that work.
        seen.open("/stacks/workers")
        gone = seen.page.locator("tr", has=seen.page.locator(f'th[title="{holder}"]'))
        expect(gone).to_contain_text("silent")


def test_a_stack_on_which_nothing_works_says_so(site: Site, visit: Visiting) -> None:
    stack = site.gated("abandoned", {"one": nothing()})
    with visit() as seen, visit() as listed:
        seen.open("/stack/abandoned/resources")
        listed.open("/stacks?name=abandoned")
        row = listed.page.locator("#stacks-rows tr")
        expect(row).to_contain_text("CREATE_IN_PROGRESS")
        standing = row.get_by_text("nothing works on it")
        expect(standing).to_be_hidden()
        notice = seen.page.locator("#stack-standstill")
        expect(notice).to_be_hidden()
        with site.without("w1"), site.without("w2"):
            expect(notice).to_have_text(
                re.compile(
                    r"No worker has been seen since \d\d:\d\d:\d\dZ: start one with isotherm worker\."
                ),
            )
            expect(standing).to_be_visible()
            expect(listed.page.locator("#stacks-standstill")).to_contain_text("No worker has been seen since")
        expect(notice).to_be_hidden()
        expect(standing).to_be_hidden()
        site.let_on(stack)
        seen.until_stack("CREATE_COMPLETE")


def test_a_page_says_that_the_broker_is_away_and_that_the_database_is(
    site: Site, visit: Visiting, redis_server: RedisServer, postgres_server: PostgresServer
) -> None:
    stack = site.gated("cut-off", layers(4, 3))
    # What a browser says by itself of an answer that is an error.
    with visit(expected=("Failed to load resource",)) as seen:
        seen.open("/stack/cut-off/graph")
        seen.until_legend(blocked=12, held=1)
        notice, trouble = (seen.page.locator(each) for each in ("#stack-standstill", "#trouble"))
        redis_server.stop()
        expect(notice).to_have_text(
            re.compile(r"The broker has not been reached since \d\d:\d\d:\d\dZ: .*isotherm doctor\.")
        )
        redis_server.launch()
        expect(notice).to_be_hidden()
        postgres_server.stop()
        expect(trouble).to_have_text(
            re.compile(r"The database does not answer: start it, .*'isotherm doctor'")
        )
        seen.until_data("reconnecting", "stale")
        # Plain words, and what was known stays in sight.
        assert not re.search(r"psycopg|sqlalchemy|127\.0\.0\.1|Traceback|port \d", seen.text("#stacks-page"))
        assert seen.legend() == {"blocked": 12, "held": 1}
        seen.page.goto(site.page("/stacks/attention"))
        expect(seen.page.locator("[data-kind=database]")).to_contain_text("isotherm doctor")
        postgres_server.launch()
        expect(seen.page.locator("[data-kind=database]")).to_have_count(0)
        seen.open("/stack/cut-off/graph")
        expect(trouble).to_be_hidden()
        site.let_on(stack)
        seen.until_stack("CREATE_COMPLETE")
