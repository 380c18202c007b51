"""What does not fit into memory, on disk for the time of a run; a disk that takes no more is told in one sentence."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from shoal.errors import InputError

_NUMBER = re.compile(r"\(os error (\d+)\)")


@contextmanager
def spilling() -> Iterator[None]:
    """Around whatever is written to a scratch folder."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        if not of_the_system(error):
            raise
        raise refused(error) from None


def of_the_system(error: Exception) -> bool:
    """Whether the system refused something; whatever else Polars raises is a fault of ours."""
    return isinstance(error, OSError) or _NUMBER.search(str(error)) is not None


def read_part(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
    """The rows of a scratch file, or some columns, under whatever name: Polars takes brackets in one for a pattern."""
    with path.open("rb") as file:
        return pl.read_ipc(file, columns=columns)


def refused(error: Exception) -> InputError:
    """Why nothing more can be written; what Polars raises holds the system's number in a text alone."""
    found = _NUMBER.search(str(error))
    number = getattr(error, "errno", None) or (int(found[1]) if found else 0)
    if number in (errno.ENOSPC, errno.EDQUOT):
        return full()
    why = os.strerror(number) if number else "the system refused it"
    return InputError(f"The scratch folder cannot be written to: {why}. Name another as 'scratch' under [engine].")


def full() -> InputError:
    """The refusal of a disk without room."""
    return InputError("The disk of the scratch folder is full: name another folder as 'scratch' under [engine].")
