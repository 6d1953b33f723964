"""Every packed column: what is stored there opens in its row alone, whoever reads it.

The columns are those of the tables, so that a new one fails here until it has a reader in this list.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgpack
import pytest
import sqlalchemy as sa

from orchestrator.config.secret import Secret
from orchestrator.config.settings import Settings
from orchestrator.model.codec import Codec, MisplacedValue, plain
from orchestrator.model.messages import CONVERGE, CheckOrder
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Claim
from orchestrator.store.stacks.snapshots import SnapshotRow
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.store.store import Store
from orchestrator.views.software import SoftwareDeploymentView
from tests.migrated import migrate
from tests.unit.orchestrator.store.conftest import KEY
from tests.unit.orchestrator.store.packed_rows import PACKED, own_text, write_rows


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/s.db"
    migrate(url)
    store = Store(url, codec=Codec([KEY]))
    write_rows(store.database, store.codec.pack)
    yield store
    store.close()


def claimed(store: Store, row: str) -> Claim:
    order = CheckOrder(
        stack_id=f"stack-{row}", traversal_id=f"traversal-{row}", no=1, key="it", phase=CONVERGE, stack="s"
    )
    claim = store.nodes.claim(order, worker="w")
    assert claim is not None
    if claim.misplaced:
        raise MisplacedValue("; ".join(claim.misplaced))
    return claim


def resource(store: Store, row: str) -> ResourceRow:
    found = store.stacks.row(f"resource-{row}")
    assert found is not None
    return found


def sunk(store: Store, row: str) -> Any:
    claim = store.sink_cursors.claim(f"sink-{row}", owner="w", lease_seconds=1)
    if claim is None:
        (error,) = (each.error for each in store.sink_cursors.all() if each.name == f"sink-{row}")
        raise MisplacedValue(error)
    return claim


def entry(store: Store, row: str) -> Any:
    values: dict[str, Any] = dict.fromkeys(SnapshotRow.__dataclass_fields__, "") | {
        "id": f"snapshot-{row}",
        "created_at": 0.0,
    }
    (found,) = store.snapshots.entries(SnapshotRow(**values))
    if found.fault:
        raise MisplacedValue(found.fault)
    return found.entry


def shown(store: Store, row: str) -> Any:
    held = store.ledger.leave(
        f"operation-{row}",
        states=["under_way"],
        owner="w",
        outcome="",
        reason="",
        lease_seconds=1,
        is_idle=lambda _: True,
    )
    assert held is not None
    return held.shown


def waiting(store: Store, row: str) -> Any:
    # Each is the only one of its project, whose turn it is in the order of the names.
    taken = {each.id: each for _ in "ab" if (each := store.taken_jobs.take(lease_seconds=-1))}
    return store.taken_jobs.content(taken[f"waiting-{row}"])


def deployment(store: Store, row: str) -> SoftwareDeploymentView:
    return store.software.deployment(f"deployment-{row}", "p")


#: What reads each column in earnest.
READERS: Mapping[str, Callable[[Store, str], Any]] = {
    "file.content": lambda store, row: store.templates.file(f"file-{row}"),
    "template.body": lambda store, row: store.templates.load(f"template-{row}"),
    "resource.properties": lambda store, row: claimed(store, row).properties,
    "resource.metadata": lambda store, row: claimed(store, row).metadata,
    "resource.data": lambda store, row: claimed(store, row).data,
    "resource.token": lambda store, row: claimed(store, row).token,
    "resource.reference_id": lambda store, row: resource(store, row).reference_id,
    "resource.attributes": lambda store, row: resource(store, row).attributes,
    "snapshot_resource.entry": entry,
    "annotation.value": lambda store, row: store.annotations.of(f"stack-{row}", "it"),
    "traversal.context": lambda store, row: store.traversals.context(f"traversal-{row}"),
    "node.fragment": lambda store, row: claimed(store, row).fragment,
    "node.wanted": lambda store, row: claimed(store, row).wanted,
    "node.node_data": lambda store, row: claimed(store, row).recorded,
    "node.needs": lambda store, row: store.nodes.inputs(claimed(store, row)),
    "step_log.lines": lambda store, row: store.step_logs.of(f"stack-{row}", "it", limit=9, seconds=9.0),
    "drift.finding": lambda store, row: store.drifts.of_resource(f"resource-{row}"),
    "job.refusal": lambda store, row: getattr(store.stacks.job(f"job-{row}"), "refusal", None),
    "waiting_job.job": waiting,
    "operation.shown": shown,
    "operation_call.annotations": lambda store, row: store.ledger.calls(f"operation-{row}")[0].annotations,
    "sink_cursor.options": lambda store, row: sunk(store, row).options,
    "sink_cursor.state": lambda store, row: sunk(store, row).state,
    "delegated_credential.options": lambda store, row: store.credentials.options(
        f"credential-{row}", project="p"
    ),
    "software_config.definition": lambda store, row: store.software.config(f"config-{row}", "p"),
    "software_deployment.input_values": lambda store, row: deployment(store, row).input_values,
    "software_deployment.output_values": lambda store, row: deployment(store, row).output_values,
}
#: Shown without what cannot be read, so that a stack can be looked at and deleted.
SHOWN_WITHOUT: Mapping[str, Any] = {"resource.reference_id": None, "resource.attributes": []}
#: Others that read the same columns.
MORE_READERS: tuple[tuple[str, Callable[[Store, str], Any]], ...] = (
    ("node.fragment", lambda store, row: store.histories.applied(f"resource-{row}")),
    ("node.fragment", lambda store, row: store.histories.of_node(f"traversal-{row}", 1)),
    ("node.fragment", lambda store, row: store.histories.planned(f"stack-{row}")),
    ("node.node_data", lambda store, row: store.nodes.inputs(claimed(store, row))),
    ("resource.metadata", lambda store, row: store.stacks.metadata_of(f"stack-{row}", f"physical-{row}")),
    ("annotation.value", lambda store, row: store.annotations.all([f"stack-{row}"])),
    ("drift.finding", lambda store, row: store.drifts.of_tree(f"stack-{row}")),
)
CASES = [(name, reader) for name, reader in (*READERS.items(), *MORE_READERS)]
IDS = [f"{name} ({number})" for number, (name, _) in enumerate(CASES)]


def test_every_packed_column_has_a_reader_here() -> None:
    assert {f"{column.table.name}.{column.name}" for column in PACKED} == READERS.keys()


@pytest.mark.parametrize(("name", "reader"), CASES, ids=IDS)
def test_what_is_stored_is_read(name: str, reader: Callable[[Store, str], Any], store: Store) -> None:
    for row in ("a", "b"):
        assert own_text(row) in repr(reader(store, row)), name


@pytest.mark.parametrize(("name", "reader"), CASES, ids=IDS)
def test_two_rows_values_swapped_are_refused_in_both(
    name: str, reader: Callable[[Store, str], Any], store: Store
) -> None:
    table, column = name.split(".")
    swap(store, tables.metadata.tables[table], column)
    for row, other in (("a", "b"), ("b", "a")):
        if name in SHOWN_WITHOUT:
            assert reader(store, row) == SHOWN_WITHOUT[name]
            continue
        with pytest.raises(MisplacedValue) as refused:
            reader(store, row)
        sentence = str(refused.value)
        assert f"table {table!r}, row " in sentence
        assert f"-{row}" in sentence
        assert f"column {column!r}" in sentence
        assert "restore the row from a backup" in sentence
        assert own_text(row) not in sentence
        assert own_text(other) not in sentence


def swap(store: Store, table: sa.Table, column: str) -> None:
    """Let the two rows of a table have each other's bytes in a column."""
    with store.database.write() as connection:
        rows = connection.execute(sa.select(table)).all()
        assert len(rows) == 2
        for to, origin in (rows, rows[::-1]):
            key = [each == getattr(to, each.name) for each in table.primary_key]
            connection.execute(table.update().where(*key).values({column: getattr(origin, column)}))


def test_a_purge_stops_at_a_template_of_another_row(store: Store) -> None:
    assert {template_id for template_id, _ in store.purger._removals.templates()} == {
        "template-a",
        "template-b",
    }
    swap(store, tables.template, "body")
    with pytest.raises(MisplacedValue, match="'template-a'"):
        list(store.purger._removals.templates())


def test_a_value_of_another_column_of_the_same_row_is_refused(store: Store) -> None:
    with store.database.write() as connection:
        connection.execute(sa.text("UPDATE resource SET data = properties"))
    with pytest.raises(MisplacedValue, match="column 'data'"):
        claimed(store, "a")


def test_the_swap_would_be_seen_in_the_form_of_earlier_versions(store: Store) -> None:
    """What earlier versions stored is read in any row: it is refused once all were encrypted anew."""
    old = b"\x00" + msgpack.packb({"own": own_text("b")})
    with store.database.write() as connection:
        connection.execute(sa.text("UPDATE resource SET data = :old"), {"old": old})
    assert claimed(store, "a").data == {"own": own_text("b")}
    store.codec.refuses_unbound = store.identity.is_reencrypted
    store.identity.set_reencrypted()
    with pytest.raises(MisplacedValue, match="column 'data'"):
        claimed(store, "b")


@pytest.mark.parametrize("refuses", [True, False])
def test_the_setting_refuses_values_that_are_bound_to_no_row_whatever_the_database_says(
    tmp_path: Path, refuses: bool
) -> None:
    settings = Settings(
        state_directory=tmp_path, encryption_keys=(Secret(KEY),), refuse_unbound_values=refuses
    )
    migrate(settings.effective_database_url)
    store = Store.of(settings)
    content = {"id": "digest", "content": plain("a file"), "saved_at": 0.0}
    store.database.change(tables.file.insert().values(content))
    if refuses:
        with pytest.raises(MisplacedValue, match="of a form that is refused"):
            store.templates.file("digest")
    else:
        assert store.templates.file("digest") == "a file"
    store.close()
