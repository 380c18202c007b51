"""The data an item uses, each recorded with its hash: the user's own downloads, and stand-ins that a seed generates."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError
from shoal.params import choice
from shoal_papers import adult as uci
from shoal_papers.standins import GENERATORS, StandIn, census_from_file, census_standin

CENSUS = "census.csv"
NEEDS = ("adult", "census")


class Data:
    """Data sets of one run.

    Parameters
    ----------
    folder
        Where the user's downloads are: ``adult.data``, and ``census.csv`` for whoever has such an extract.

    Attributes
    ----------
    used
        By name, what was used: where it comes from, its rows and its SHA-256.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self.used: dict[str, dict[str, Any]] = {}
        self._adult: tuple[pl.DataFrame, str] | None = None

    def adult(self, *, complete: bool = True) -> pl.DataFrame:
        """UCI Adult in the order of the file, typed, missing cells null; only complete rows unless asked otherwise."""
        if self._adult is None:
            path = uci.find_adult(self.folder)
            found = uci.read_adult(path)
            uci.check_adult(found)
            self._adult = found, file_hash(path)
        frame, digest = self._adult
        what = "UCI Adult, the training file, your own download"
        if digest != uci.SHA256:
            what += "; warning: not byte for byte the file of the repository"
        self.used["adult"] = {"what": what, "rows": frame.height, "sha256": digest}
        return frame.drop_nulls() if complete else frame

    def census(self, *, seed: int, n: int | None = None) -> StandIn:
        """Your own ``census.csv``; else a stand-in from Adult, or a generated one without Adult or above its size."""
        place = self._census()
        if place is not None:
            made = census_from_file(place, n=n, seed=seed)
        elif self._has_adult() and (n is None or n <= uci.COMPLETE):
            made = census_standin(self.adult(), n=n, seed=seed)
        else:
            made = census_standin(n=n or 100_000, seed=seed)
        return self._note(made)

    def standin(self, name: str, **parameters: Any) -> StandIn:
        """A generated data set, by its name among ``GENERATORS``, with its parameters."""
        choice("a stand-in", "name", name, GENERATORS)
        return self._note(GENERATORS[name](**parameters))

    def fingerprint(self, needs: Sequence[str]) -> dict[str, str]:
        """The hash of every file that a run will rest on; an error says what to download."""
        found = {}
        for name in needs:
            choice("an item", "needs", name, NEEDS)
            if name == "adult":
                found[name] = file_hash(uci.find_adult(self.folder))
            elif (place := self._census()) is not None:
                found[name] = file_hash(place)
            else:
                found[name] = file_hash(uci.find_adult(self.folder)) if self._has_adult() else "generated"
        return found

    def _note(self, made: StandIn) -> StandIn:
        digest = hashlib.sha256(made.frame.write_csv().encode()).hexdigest()
        self.used[f"{made.name}, seed {made.seed}"] = {
            "what": made.what, "rows": made.frame.height, "sha256": digest,
        }  # fmt: skip
        return made

    def _census(self) -> Path | None:
        place = None if self.folder is None else self.folder / CENSUS
        return place if place is not None and place.is_file() else None

    def _has_adult(self) -> bool:
        try:
            uci.find_adult(self.folder)
        except InputError:
            return False
        return True


def file_hash(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
