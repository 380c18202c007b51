"""Releases that were coded by the same mapping or grading: an answer about one tells of the others."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session as Db

from shoal.errors import ShoalError
from shoal.recoding.secrets import MappingTable, Secret, restore
from shoal.vault.leaks import Known
from shoal.vault.protocol.recount import Counter, Tally, counter_of
from shoal.verify.folder import read_manifest
from shoal.web.errors import Refused, conflict
from shoal.web.jobs.results import private_of
from shoal.web.preview.cache import turn
from shoal.web.projects.releases import files_of_release, folder_of_release
from shoal.web.questions.ledger import Ledger, all_tables
from shoal.web.request import Here
from shoal.web.server_keys import get, put
from shoal.web.settings import Settings
from shoal.web.store.tables import Release

# ----------------------------------------
# Released tables that results are checked on: read whole, one after the other, as far as there is memory for them.


_SHARE = 4  # of the memory of a job, what a release may take: the server has others to answer
_CELL = 32  # bytes of a cell in memory, as text and as the number that it may be; in a Parquet file it may have none
_CODE = 256  # bytes of a mapped code beside that, as texts that others are looked up among


def read_table(release: Release, secrets: Sequence[Secret], settings: Settings) -> Counter:
    """The table of a release, for whoever has their turn to read; refused where it is too large for the server."""
    folder, most = folder_of_release(release, settings), settings.job_memory // _SHARE
    sizes = [path.stat().st_size for path in files_of_release(release, settings).values()]
    if max([*sizes, needed(read_manifest(folder), secrets)]) > most:
        raise conflict(
            f"This release takes more than the {most >> 20:,} MiB that results are checked on here, of its largest "
            f"file or at {_CELL} bytes a cell and {_CODE} a mapped code: ask whoever runs the server for more, a "
            "quarter of 'job-memory'."
        )
    return counter_of(folder, secrets)


def needed(manifest: Mapping[str, Any], secrets: Sequence[Secret]) -> int:
    """Bytes that the tables of a release take, which are not read unless these are few enough."""
    data = manifest["data"]
    rows: int = data["rows"] + data.get("sensitive", {"rows": 0})["rows"]
    codes = sum(min(len(one), rows) for one in secrets if isinstance(one, MappingTable))
    return _CELL * rows * len(manifest["columns"]) + _CODE * codes


_TALLY = "tally"
_GONE = "put its folder back"
_LARGE = "it is larger than a quarter of 'job-memory', so ask whoever runs the server for more"
_KEPT = 32  # counts of codes in memory
_ledgers: dict[str, Ledger] = {}  # by release: names, for as many as there are
_tallies: OrderedDict[str, Tally] = OrderedDict()
_lock = Lock()


@dataclass(frozen=True)
class Relative:
    """Another release, or other columns of the same one, by the names of the first one's columns.

    Attributes
    ----------
    columns
        What columns of the first are called in this one.
    common
        For each of these columns, which codes of which columns of the first stand for the same there.
    """

    release: Release
    ledger: Ledger
    columns: dict[str, str]
    common: dict[str, dict[str, set[str]]]
    where: str = " of another release"

    def shared(self, known: Known) -> Known:
        """What is known of the first release and tells of this one."""
        return self.ledger.shared(known, self.common)


def all_releases(db: Db) -> list[Release]:
    """Every release, the oldest first; none is ever taken away."""
    return list(db.scalars(select(Release).order_by(Release.created, Release.id)))


def relatives(here: Here, release: Release, ledger: Ledger, among: list[Release]) -> list[Relative]:
    """Which releases have a mapping or grading of a release, or most of one, whatever they call its column.

    Columns of the release itself may go by one grading, too.
    """
    ledgers = [(one, ledger_of(here, one)) for one in among]
    with here.reading() as db:
        tables = all_tables(db, here.keyring)
    pairs = [(one, other, other.common(tables, ledger)) for one, other in ledgers]
    return [each for one, other, found in pairs for each in _views(one, other, found, one.id == release.id)]


def _views(release: Release, ledger: Ledger, pairs: dict[tuple[str, str], set[str]], own: bool) -> Iterator[Relative]:
    """A release as often as one of its columns takes part: first under their own names, then under others."""
    columns: dict[str, list[str]] = {}
    for mine, theirs in sorted(pairs, key=lambda pair: (pair[0] != pair[1], pair)):
        if not (own and mine == theirs):
            columns.setdefault(theirs, []).append(mine)
    for place in range(max(map(len, columns.values()), default=0)):
        names = {theirs: mine[place] for theirs, mine in columns.items() if place < len(mine)}
        common = {
            theirs: {other: pieces for (one, other), pieces in pairs.items() if one == mine}
            for theirs, mine in names.items()
        }
        yield Relative(release, ledger, names, common, " by the same grading" if own else " of another release")


def kept_secrets(here: Here, release: Release) -> list[Secret]:
    """What undoes a release; none where it has nothing."""
    with here.reading() as db:
        plain = private_of(db, here.keyring, release.id, "secrets")
    return [] if plain is None else [restore(one) for one in json.loads(plain)]


def ledger_of(here: Here, release: Release) -> Ledger:
    """The ledger of a release, whose secrets are opened once."""
    key = _key(here, release)
    found = _ledgers.get(key)
    if found is None:
        _ledgers[key] = found = Ledger.of(here, kept_secrets(here, release))
    return found


def tally_of(here: Here, release: Release) -> Tally:
    """The codes of a release, of which the last few are kept at hand."""
    key = _key(here, release)
    with _lock:
        if key in _tallies:
            _tallies.move_to_end(key)
            return _tallies[key]
    made = _counted(here, release)
    with _lock:
        _tallies[key] = made
        while len(_tallies) > _KEPT:
            _tallies.popitem(last=False)
    return made


def _counted(here: Here, release: Release) -> Tally:
    """Counts of a release's table, which are kept with the secrets: its files may be gone when they are wanted again.

    Codes that were told of another release tell of this one all the same, wherever its files are.
    """
    with here.reading() as db:
        known = get(db, here.keyring, _TALLY, release.id)
    if known is not None:
        return Tally.of_plain(json.loads(known))
    secrets = kept_secrets(here, release)
    with turn(release.id):
        try:
            made = read_table(release, secrets, here.settings).tally()
        except (ShoalError, OSError):
            raise conflict(_named(here, release, _GONE)) from None
        except Refused:  # which says of this release what is meant of the other one
            raise conflict(_named(here, release, _LARGE)) from None
    with here.writing() as db:
        put(db, here.keyring, _TALLY, release.id, json.dumps(made.plain()).encode(), release=release.id)
    return made


def _named(here: Here, release: Release, remedy: str) -> str:
    """Which release cannot be read, for those who may know of it, and what to do."""
    if here.may("question.decide"):
        named = f"The release '{release.name}' ({release.id}) has the same codes, and its files cannot be read"
        return f"{named}: {remedy}, without which nothing that answers tell of it can be counted."
    return "Another release has the same codes, and its files cannot be read: tell whoever granted you this one."


def _key(here: Here, release: Release) -> str:
    return f"{here.settings.folder}/{release.id}/{release.manifest}"
