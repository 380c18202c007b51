"""What a reproduction leaves on disk: a table, a figure, a page and a record an item, each written whole."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.registry import VERSION
from shoal_papers.base import Item, Outcome, Paper
from shoal_papers.page import index_html, item_html
from shoal_papers.plots import draw

# Raised when records say something else than before: the index passes over those of another.
_LAYOUT = 2


@cache
def code_stamp() -> str:
    """One hash of all code that a result rests on: a version alone does not tell a checkout from the day before."""
    stamp = hashlib.sha256()
    for package in ("shoal", "shoal_papers"):
        with resources.as_file(resources.files(package)) as folder:
            for path in sorted(folder.rglob("*.py")):
                stamp.update(f"{package}/{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes())
    return stamp.hexdigest()


def run_key(item: Item, *, seeds: tuple[int, ...], quick: bool, data: Mapping[str, str]) -> str:
    """What a result depends on, as one hash: the same key means that it need not be computed again."""
    facts = {
        "item": item.key, "parameters": plain(item.settings(quick)), "seeds": seeds, "quick": quick,
        "data": dict(data), "version": VERSION, "code": code_stamp(),
    }  # fmt: skip
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


class Store:
    """The folder of a reproduction."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).resolve()

    def prepare(self) -> None:
        """Make the folder; say so at once where that cannot be done."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"The folder '{self.folder}' cannot be made: {error.strerror}.") from None

    def finished(self, item: Item, key: str) -> dict[str, Any] | None:
        """The record of an item, if it was made under this key and all its files are there."""
        found = _record(self.folder / f"{item.key}.json")
        if found is None or found.get("key") != key:
            return None
        return found if all((self.folder / name).is_file() for name in found["files"]) else None

    def save(self, paper: Paper, item: Item, outcome: Outcome, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Write everything about an item, its record last, since that is what says that the rest is there."""
        files: dict[str, bytes] = {}
        if outcome.table is not None:
            files[f"{item.key}.csv"] = outcome.table.write_csv(float_precision=None).encode()
        if outcome.runs is not None:
            files[f"{item.key}-runs.csv"] = outcome.runs.write_csv().encode()
        drawn = draw(outcome.plots) if outcome.plots else {}
        files |= {f"{item.key}.{suffix}": content for suffix, content in drawn.items()}
        record = plain({
            "item": item.key, "id": item.id, "paper": paper.name, "authors": paper.authors, "about": paper.about,
            "place": list(paper.items).index(item), "title": item.title, "shows": item.shows,
            "statement": item.statement, "impossible": item.impossible, "version": VERSION, **facts,
            "claims": [{**plain(claim), "standing": claim.standing} for claim in outcome.claims],
            "notes": outcome.notes, "readings": outcome.readings, "layout": _LAYOUT,
            "files": [*files, f"{item.key}.html"],
        })  # fmt: skip
        files[f"{item.key}.html"] = item_html(record, outcome.table, drawn.get("svg")).encode()
        for name, content in files.items():
            _write(self.folder / name, content)
        _write(self.folder / f"{item.key}.json", (json.dumps(record, indent=2, allow_nan=False) + "\n").encode())
        return record

    def write_index(self) -> None:
        """One page that leads to every item on record, paper by paper, in the order of the documents."""
        read = (_record(path) for path in self.folder.glob("EXP-*.json"))
        found = [record for record in read if record is not None and record.get("layout") == _LAYOUT]
        found.sort(key=lambda record: (record["paper"], record["place"]))
        _write(self.folder / "index.html", index_html(found).encode())


def _record(path: Path) -> dict[str, Any] | None:
    """What a file says about an item, None where it cannot be read."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text("utf-8"))
        if isinstance(found, dict):
            return found
    return None


def plain(value: Any) -> Any:
    """The same value in JSON's own types; numbers it has no word for are null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | range):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _write(path: Path, content: bytes) -> None:
    descriptor, staged = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(staged, 0o644)
        os.replace(staged, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(staged)
