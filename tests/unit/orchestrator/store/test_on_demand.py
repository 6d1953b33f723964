"""The parts of the store are imported and made when they are used."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from orchestrator.store.store import Store
from tests.waiting import PATIENCE_SECONDS

PARTS = [name for name, hint in Store.__annotations__.items() if isinstance(hint, str)]


def test_every_part_is_what_its_annotation_names() -> None:
    store = Store("sqlite://")
    assert len(PARTS) > 30
    for name in PARTS:
        part = getattr(store, name)
        assert type(part).__name__ == Store.__annotations__[name], name
        assert getattr(store, name) is part


def test_a_store_has_no_part_before_it_is_used() -> None:
    code = (
        "import sys; from orchestrator.store.store import Store; Store('sqlite://').stacks; "
        "sys.exit(' '.join(name for name in sys.modules if name.startswith('orchestrator.store.nodes')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""


def test_threads_share_the_part_that_one_of_them_makes() -> None:
    threads, rounds = 4, 20
    barrier = Barrier(threads)

    def made(stores: list[Store]) -> list[int]:
        found = []
        for store in stores:
            barrier.wait(PATIENCE_SECONDS)
            found.append(id(store.sweeper))
        return found

    stores = [Store("sqlite://") for _ in range(rounds)]
    with ThreadPoolExecutor(threads) as pool:
        first, *others = pool.map(made, [stores] * threads)
    assert all(each == first for each in others)
