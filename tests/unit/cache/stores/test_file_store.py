"""The store in a file: which dbm it finds, and whose files it leaves alone."""

import subprocess
import sys
from pathlib import Path

from structlog.testing import capture_logs

from cache.stores.file_store import FileStore

ROOT = Path(__file__).parents[4]
#: One thread is held where it has begun to import a kind that is not installed; another comes to the same place.
TWO_THREADS = """
import sys, tempfile, threading
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

begun, fail = threading.Event(), threading.Event()

class Missing(MetaPathFinder, Loader):
    def find_spec(self, name, path, target=None):
        return ModuleSpec(name, self) if name == "dbm.gnu" else None

    def exec_module(self, module):
        begun.set()
        fail.wait(0 if threading.current_thread() is threading.main_thread() else 60)
        raise ImportError("it is not installed")

sys.meta_path.insert(0, Missing())
import dbm
from cache.stores import file_store
begun.clear()

def opened():
    dbm.open(tempfile.mkdtemp() + "/cache", "c").close()

first = threading.Thread(target=opened)
first.start()
first.join(2)
print("looked again" if begun.is_set() else "looked once")
fail.set()
first.join()
"""


def test_which_dbm_there_is_is_found_by_the_import_and_not_by_threads() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWO_THREADS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("looked once\n", 0), done.stderr


def test_what_another_process_is_writing_is_neither_narrowed_nor_warned_of(tmp_path: Path) -> None:
    arguments = {
        "url": str(tmp_path / "answers"),
        "timeout_seconds": 0.01,
        "prefix": "a:",
        "lasting_key": "a:lasting",
        "max_entries": 10,
    }
    writing = FileStore(arguments)
    (file,) = (each for each in tmp_path.iterdir() if each.name in {"answers", "answers.dat", "answers.db"})
    with writing._use_rw_lock(True), capture_logs() as logs:
        # As a dbm of Python's own leaves it for a moment, each time that it writes.
        file.chmod(0o644)
        FileStore(arguments)
    assert logs == []
    with capture_logs() as logs:
        FileStore(arguments)
    assert [each["path"] for each in logs] == [str(file)]
