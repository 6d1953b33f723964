"""Connections through a pooler that lends one for a transaction at a time, such as PgBouncer in transaction mode.

Such a pooler takes no session settings from clients, and what one transaction leaves behind in a session the next one
does not find. A parameter of the database's URL says so: ``?pooling=transaction``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy as sa

#: The parameter, and its one value.
POOLING, TRANSACTION = "pooling", "transaction"
#: How PgBouncer refuses session settings.
_REFUSAL = "unsupported startup parameter"
_HINT = f"add {POOLING}={TRANSACTION} to the query of ISOTHERM_DATABASE_URL, where it leads to PgBouncer"


def pooling_fault(url: sa.URL) -> str:
    """Return what is wrong with the parameter in a URL; empty for nothing."""
    value = url.query.get(POOLING, TRANSACTION)
    return "" if value == TRANSACTION else f"expected {POOLING}={TRANSACTION}, found {value!r}"


def connecting(url: sa.URL, session: dict[str, str]) -> tuple[sa.URL, dict[str, Any]]:
    """Return the URL without the parameter, and the driver's arguments for a connection.

    ``session`` are settings for the whole connection. Through a pooler they cannot be sent, nor can the next
    transaction use a statement that this one prepared.
    """
    if POOLING in url.query:
        return url.difference_update_query([POOLING]), {"prepare_threshold": None}
    return url, {"options": " ".join(f"-c {name}={value}" for name, value in session.items())}


def is_pooler_refusal(error: BaseException | None) -> bool:
    """Return whether a pooler refused the session settings of a connection."""
    return _REFUSAL in str(error)


def remedy_for(error: BaseException | None, otherwise: str = "") -> str:
    """Return the remedy for an error of connecting: that for a pooler, where it is one's, or another."""
    return _HINT if is_pooler_refusal(error) else otherwise
