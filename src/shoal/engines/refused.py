"""What a database refuses, in words of ours: its own may hold a password, or cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import InputError

_RIGHTS = {"SELECT": "read the source", "CREATE": "write the table"}
# By the beginnings of its codes, what is wrong with a statement, so that its words are about the recipe's own text.
_OF_THE_STATEMENT = ("42", "3F", "0A", "22023")


def refused(error: Any, *, role: str, host: str, doing: str) -> InputError:
    """Why a statement failed.

    Parameters
    ----------
    error
        An exception of the driver.
    doing
        The right that was needed last, ``"SELECT"`` or ``"CREATE"``.
    """
    state, kind = error.sqlstate or "", type(error).__name__
    if state == "42501":
        return InputError(
            f"The role '{role}' may not {_RIGHTS[doing]}: grant it {doing} on it, and USAGE on its schema."
        )
    if state.startswith(_OF_THE_STATEMENT):
        said = (error.diag.message_primary or "").replace("\n", " ")
        return InputError(f"The database cannot do what the recipe asks for ({said}): correct it.")
    if state == "25006":
        return InputError(f"The server '{host}' is a standby and keeps no temporary tables: use its primary.")
    if state == "53100":
        return InputError("The disk of the database server is full, so nothing is written.")
    if state[:2] in ("08", "57", ""):
        return InputError(f"The connection to the database was lost ({kind}), so nothing is written: run again.")
    return InputError(f"The database cannot give these rows ({kind}): look at the source there.")


def unreachable(known: Mapping[str, str], said: str) -> InputError:
    """Why there is no connection, without the driver's words."""
    reasons = {
        "password": "the password is refused, or none is given (PGPASSWORD, ~/.pgpass or a service file may hold it)",
        "no pg_hba": "the server lets nobody in from here",
        "role": "there is no such role",
        "database": "there is no such database",
        "translate host": "there is no such host",
        "resolve": "there is no such host",
        "timeout": "the server does not answer",
        "timed out": "the server does not answer",
        "refused": "no server answers there",
        "No such file": "no server answers there",
    }
    lowered = said.lower().replace("connection to server", "")
    why = next((reason for mark, reason in reasons.items() if mark.lower() in lowered), "the server refused it")
    host = known.get("host") or known.get("hostaddr") or "localhost"
    name = known.get("dbname") or known.get("user") or ""
    return InputError(f"There is no connection to the database '{name}' on '{host}': {why}.")
