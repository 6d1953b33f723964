"""A full disk is reported with the file that cannot grow."""

import re
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.errors import Unavailable
from orchestrator.store.database import Database
from orchestrator.store.retrying import retrying


@pytest.mark.parametrize("direct", [False, True])
def test_a_full_disk_names_the_file(direct: bool, tmp_path: Path) -> None:  # a parameter
    file = tmp_path / "isotherm.db"
    database = Database(f"sqlite:///{file}")
    with database.write() as connection:
        connection.execute(sa.text("CREATE TABLE grows (content BLOB)"))
        connection.execute(sa.text("PRAGMA max_page_count = 8"))
    with database.direct() as driver:
        # It holds for a connection, and this is another.
        driver.count("PRAGMA max_page_count = 8", {})

    @retrying
    def grow() -> None:
        statement = "INSERT INTO grows VALUES (zeroblob(1000000))"
        if direct:
            with database.direct() as driver:
                driver.count(statement, {})
            return
        with database.write() as connection:
            connection.execute(sa.text(statement))

    with pytest.raises(Unavailable, match=f"disk is full: {re.escape(str(file))}; free space"):
        grow()
    database.dispose()
