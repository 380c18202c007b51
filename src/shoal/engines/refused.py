"""What a database refuses, in words of ours: its own may hold a password, or cells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shoal.errors import InputError

_RIGHTS = {"SELECT": "read the source", "CREATE": "write the table"}
# By the beginnings of its codes, what is wrong with a statement, so that its words are about the recipe's own text.
_OF_THE_STATEMENT = ("42", "3F", "0A", "22023")

# By what the driver says in such a case, without names.
_REASONS = {
    "password": "the password is refused, or none is given (PGPASSWORD, ~/.pgpass or a service file may hold it)",
    "no pg_hba": "the server lets nobody in from here",
    "permission denied": "the role may not connect to it, so grant it CONNECT",
    "not permitted to log in": "the role may not log in, so grant it LOGIN",
    "role  does not exist": "there is no such role",
    "database  does not exist": "there is no such database",
    "translate host": "there is no such host",
    "resolve": "there is no such host",
    "timeout": "the server does not answer",
    "timed out": "the server does not answer",
    "refused": "no server answers there, so check host and port",
    "no such file": "no server answers there, so check host and port",
    "certificate": "the server's certificate, or ours, is not accepted",
    "too many": "the server has too many connections, so try again later",
    "starting up": "the server is starting, so try again later",
}


def following(host: str) -> InputError:
    """The refusal of a server that only follows another."""
    return InputError(f"The server '{host}' is a standby and keeps no temporary tables: use its primary.")


def refused(error: Any, *, role: str, doing: str, seen: bool) -> InputError:
    """Why a statement failed.

    Parameters
    ----------
    error
        An exception of the driver.
    doing
        The right that was needed last, ``"SELECT"`` or ``"CREATE"``.
    seen
        Whether the statement looked at cells, any of which its words may hold.
    """
    state, kind = error.sqlstate or "", type(error).__name__
    if state == "42501":
        return InputError(
            f"The role '{role}' may not {_RIGHTS[doing]}: grant it {doing} on it, and USAGE on its schema."
        )
    if state.startswith(_OF_THE_STATEMENT) and not seen:
        said = (error.diag.message_primary or "").replace("\n", " ")
        return InputError(f"The database cannot do what the recipe asks for ({said}): correct it.")
    if state == "53100":
        return InputError("The disk of the database server is full, so nothing is written.")
    if state[:2] in ("08", "57", ""):
        return InputError(f"The connection to the database was lost ({kind}), so nothing is written: run again.")
    return InputError(f"The database cannot give these rows ({kind}): look at the source there.")


def unreachable(known: Mapping[str, str], said: str) -> InputError:
    """Why there is no connection, without the driver's words."""
    # Names stand in quotes, and could be any of our words.
    lowered = re.sub(r"\"[^\"]*\"|'[^']*'", "", said.lower())
    why = next((reason for mark, reason in _REASONS.items() if mark in lowered), "the server refused it")
    host = known.get("host") or known.get("hostaddr") or "localhost"
    name = known.get("dbname") or known.get("user") or ""
    return InputError(f"There is no connection to the database '{name}' on '{host}': {why}.")


def unkept(why: str, *, lost: bool = False) -> InputError:
    """Of a release whose table was not kept in the end, or nobody knows where the connection was lost over it."""
    told = "nobody knows whether the database kept" if lost else "the database did not keep"
    todo = f"{'look there, and if it is not, ' if lost else ''}run again with another folder"
    return InputError(f"The release is in its folder, but {told} its table ({why}): {todo}.")
