"""A written release, ready for statements to be counted on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shoal.errors import InputError
from shoal.recoding.secrets import Secret
from shoal.vault.protocol.checking import Counter
from shoal.vault.protocol.statements import GRADING, MAPPING, Released
from shoal.verify.folder import read_folder


def counter_of(folder: str | Path, secrets: Sequence[Secret]) -> Counter:
    """The table of a release, after checking its hash, with the columns coded that the secrets are of."""
    coded = {one.column: one.kind for one in secrets if one.kind in (MAPPING, GRADING)}
    tables, _ = read_folder(folder)
    fitting = [table for table in tables.values() if coded and set(coded) <= set(table.columns)]
    if not fitting:
        raise InputError("The release has no columns whose codes its secrets turn back: there is nothing to interpret.")
    return Counter(Released.of(fitting[0], coded))
