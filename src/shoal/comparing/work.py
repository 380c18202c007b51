"""What is done so far, on disk: one private file of JSON lines, so that a sweep that was stopped goes on."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shoal.comparing.grid import Point
from shoal.comparing.points import FAILED, Outcome, Task
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.errors import InputError
from shoal.io.evidence import input_hash
from shoal.io.private import write_private
from shoal.version import VERSION

_FORM = "shoal compare"


@dataclass(eq=False, kw_only=True)
class Work:
    """The outcomes of a sweep, in a file where there is one.

    Attributes
    ----------
    keys
        The secret of every point; kept in the file, so that a sweep that goes on repeats nothing by other draws.
    done
        Outcomes by the digest of their point.
    note
        Why outcomes of an earlier sweep are of no use, empty where there is nothing to say.
    """

    keys: Keys
    source: str
    path: Path | None = None
    done: dict[str, Outcome] = field(default_factory=dict)
    note: str = ""

    def digest(self, point: Point, task: Task, hold_out: float) -> str:
        """What names a point's outcome: all that it depends on, under the secret."""
        depends = [point.algorithm, list(point.models), asdict(task), hold_out, self.source, VERSION]
        text = json.dumps(depends, sort_keys=True, default=str)
        return hmac.new(self.keys.secret, text.encode(), hashlib.sha256).hexdigest()[:32]

    def add(self, digest: str, outcome: Outcome) -> None:
        """Keep an outcome: one line in one write. A fault of our own is not kept, so that it is tried again."""
        self.done[digest] = outcome
        if self.path is None or outcome.status == FAILED:
            return
        line = json.dumps({"point": digest, "outcome": asdict(outcome)}, default=float) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, line.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_work(
    path: Path | None, stamp: Callable[[Keys], str], *, seed: int | None, fresh: bool = False
) -> Work:
    """The work on a source so far.

    Parameters
    ----------
    path
        Where it is kept, None for nowhere.
    stamp
        Gives a keyed hash of the source.
    seed
        None for a fresh secret, or the one that an earlier sweep drew.
    fresh
        Begin anew, whatever is there.
    """
    found, lines, whole = ({}, [], True) if path is None or fresh else _read(path)
    note = ""
    if found and (found.get("version"), found.get("seed")) == (VERSION, seed):
        secret = bytes.fromhex(found["secret"])
        keys = Keys.from_seed(seed) if seed is not None else Keys(secret)
        source = stamp(keys)
        if source == found.get("source"):
            done = {line["point"]: Outcome(**line["outcome"]) for line in lines}
            if path is not None and not whole:
                write_private(path, _text([found, *lines]))
            return Work(keys=keys, source=source, path=path, done=done)
        note = f"The data have changed since {len(lines):,} points were computed, so these are computed anew."
    elif found:
        note = f"{len(lines):,} points are of another version or seed, so they are computed anew."
    keys = Keys.from_seed(seed)
    source = stamp(keys)
    if path is not None:
        header = {"form": _FORM, "version": VERSION, "seed": seed, "secret": keys.secret.hex(), "source": source}
        write_private(path, _text([header]))
    return Work(keys=keys, source=source, path=path, note=note)


def source_hash(table: Table, keys: Keys) -> str:
    """A keyed hash of the rows and of how their columns are coded."""
    digest = hmac.new(keys.secret, input_hash(table.frame, keys.secret).encode(), hashlib.sha256)
    known = [table.schema, table.domain.weights, table.domain.workload]
    digest.update(json.dumps(known, sort_keys=True, default=str).encode())
    for column in table.columns.values():
        tree, policy = column.hierarchy, column.policy
        digest.update(json.dumps([column.name, column.kind, column.declared], default=str).encode())
        digest.update(table.codes[column.name].tobytes())
        if tree is not None:
            digest.update(json.dumps(tree.labels).encode() + tree.ancestors.tobytes())
        if policy is not None:
            digest.update(policy.axis.tobytes() + policy.low.tobytes() + policy.high.tobytes())
    return digest.hexdigest()


def _text(lines: list[Any]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def _read(path: Path) -> tuple[dict[str, Any], list[Mapping[str, Any]], bool]:
    """The header, the outcomes, and whether every line was whole; an interrupted write leaves a torn last line."""
    try:
        texts = path.read_text("utf-8").split("\n")
    except FileNotFoundError:
        return {}, [], True
    except (OSError, UnicodeDecodeError):
        texts = [""]
    try:
        header, *lines = [json.loads(text) for text in texts[:-1]]
    except ValueError:
        header, lines = {}, []
    if not isinstance(header, dict) or header.get("form") != _FORM:
        raise InputError(f"'{path}' is in the way and is no work of a comparison: move it, or choose another output.")
    return header, lines, texts[-1] == ""
