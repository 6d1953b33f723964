"""What every store promises about users: rows have the one on whose behalf they were written, and checks none."""

import sqlalchemy as sa

from orchestrator.config.caller import acting_for
from orchestrator.model.identity import Caller, Identity
from orchestrator.store import tables
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete, created


def caller_named(user: str) -> Caller:
    return Caller(identity=Identity.administrator(user), origin="test")


def test_operations_jobs_and_first_events_have_the_user_and_what_follows_has_none(bench: Bench) -> None:
    with acting_for(caller_named("ann \0é")):
        bench.begin({"a": set()}, job_id="j")
    past, events = bench.store.past, bench.store.events
    (begun,) = past.traversals("s-id", limit=9)
    (event,) = events.read("s-id")
    assert (begun.user, event.user) == ("ann \\0é", "ann \\0é") or begun.user == event.user != ""
    assert past.traversal("s-id", begun.id).user == begun.user
    assert events.find("s-id", event.id).user == event.user
    job = bench.store.database.first(sa.select(tables.job.c.user_name).where(tables.job.c.id == "j"))
    assert job is not None
    assert job.user_name == begun.user


def test_events_of_checks_and_operations_of_the_engine_have_no_user(bench: Bench) -> None:
    with acting_for(caller_named("ann")):
        created(bench, {"a": set()})
        bench.store.stacks.refuse_job("refused", {"kind": "NotFound"})
    begin_delete(bench)
    users = [(row.action, row.resource, row.user) for row in bench.store.events.read("s-id")]
    checked = [user for _, resource, user in users if resource]
    assert checked
    assert set(checked) == {""}
    begun = {row.action: row.user for row in bench.store.past.traversals("s-id", limit=9)}
    assert begun == {"CREATE": "ann", "DELETE": ""}
