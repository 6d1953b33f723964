"""The store in a file finds the dbm that is installed, whichever threads open the first file."""

import subprocess
import sys
from pathlib import Path

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
