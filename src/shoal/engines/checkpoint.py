"""What a reading of a source found, kept for a run that is begun again: taken up whole, checked, or not at all.

A run that may be resumed keeps the rows as they were read, numbered and beside their values, in a folder of its own.
The folder is called by a hash of the source's files (names, sizes, times), of how they are read and of the roles, so
that nothing of another source is ever taken up. It goes when a run succeeds, and when any other run begins there.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from shoal.data.gather import Gathering, Numbered
from shoal.data.schema import Schema
from shoal.data.table import spilling
from shoal.engines.scratch import held, remove
from shoal.engines.store import Store
from shoal.registry import VERSION

_FACTS, _SAMPLE = "facts.json", "sample.parquet"


def digest_of(stamp: Mapping[str, Any], schema: Schema, missing: str) -> str:
    """A hash of all that a reading depends on."""
    roles = {name: given for name, given in asdict(schema).items() if name != "specs"}
    told = [VERSION, pl.__version__, dict(stamp), roles, missing]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:32]


@contextmanager
def kept(parent: Path, digest: str) -> Iterator[Path]:
    """The folder of a reading: gone when all went well, there for the next run when it did not."""
    with held(parent, digest) as folder:
        if not _whole(folder):
            _emptied(folder)
        try:
            yield folder
        except BaseException:
            if not is_whole(folder):
                remove(folder)
            raise
        remove(folder)


def is_whole(folder: Path) -> bool:
    """Whether there is a reading that came to its end."""
    return (folder / _FACTS).exists()


def save(folder: Path, gathering: Gathering, store: Store) -> None:
    """Write what a reading found; it counts from the moment that its last file is there."""
    names, dropped = list(gathering.columns), gathering.dropped
    with spilling():
        gathering.sample.write_parquet(folder / _SAMPLE)
        for at, name in enumerate(names):
            found = gathering.columns[name]
            frame = pl.DataFrame({"value": found.values, "count": found.counts})
            frame.write_parquet(folder / f"values-{at}.parquet")
        for at, cells in enumerate(dropped.values()):
            cells.alias("value").to_frame().write_parquet(folder / f"dropped-{at}.parquet")
        facts = {
            "n_read": gathering.n_read,
            "n": gathering.n,
            "nulls": gathering.nulls,
            "columns": names,
            "dropped": list(dropped),
            "parts": store.n_parts,
            "files": _hashes(folder),
        }
        new = folder / f"{_FACTS}.new"
        new.write_text(json.dumps(facts))
        new.rename(folder / _FACTS)


def restore(folder: Path, gathering: Gathering, store: Store) -> None:
    """Take up what a reading found."""
    facts = json.loads((folder / _FACTS).read_text())
    columns = {}
    for at, name in enumerate(facts["columns"]):
        frame = _read(folder / f"values-{at}.parquet")
        columns[name] = Numbered.counted(frame["value"], frame["count"].to_numpy())
    dropped = {
        name: _read(folder / f"dropped-{at}.parquet")["value"].alias(name) for at, name in enumerate(facts["dropped"])
    }
    gathering.learn(
        _read(folder / _SAMPLE), columns,
        n_read=facts["n_read"], n=facts["n"], nulls=facts["nulls"], dropped=dropped,
    )  # fmt: skip
    store.take_up(gathering, facts["parts"])


def _whole(folder: Path) -> bool:
    """Whether everything is there as it was written."""
    try:
        files = json.loads((folder / _FACTS).read_text())["files"]
    except (OSError, ValueError, LookupError, TypeError):
        return False
    return bool(files == _hashes(folder))


def _hashes(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted([*folder.rglob("*.parquet"), *folder.rglob("*.arrow")]):
        with path.open("rb") as file:
            found[str(path.relative_to(folder))] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _emptied(folder: Path) -> None:
    for path in [folder / _FACTS, folder / f"{_FACTS}.new", *folder.glob("*.parquet")]:
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / Store.READ, ignore_errors=True)


def _read(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path, glob=False, hive_partitioning=False)
