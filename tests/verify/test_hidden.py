"""Identifiers that no cell could hold are left out before they are looked for, and no others."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.verify import identifier_words
from shoal.verify.identifier_scan import Anybody
from shoal.verify.identifier_words import Hidden
from shoal.verify.identifiers import Named
from shoal.verify.report import Check
from shoal.verify.values import Coded
from tests.conftest import many


def found(cells: list[str], identifiers: list[str], who: list[int] | None) -> Check:
    known = Hidden()
    known.read([pl.Series("name", identifiers)], None if who is None else np.array(who))
    anybody = Anybody(known)
    anybody.see(Coded(pl.DataFrame({"note": cells})))
    return anybody.check()


@pytest.mark.parametrize("seed", range(many(40, 400)))
def test_what_is_left_out_is_in_no_cell(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    draw = np.random.default_rng(seed)

    def texts(count: int, most: int) -> list[str]:
        """Of few letters, so that words begin each other and run together to others; some are addresses of mail."""
        return [
            "".join(draw.choice(list("aab1@- "), size=draw.integers(1, most)))
            for _ in range(count)
        ]  # fmt: skip

    cells, identifiers = texts(12, 12), texts(8, 9)
    who = draw.integers(0, 3, len(identifiers)).tolist() if seed % 2 else None
    quick = found(cells, identifiers, who)
    monkeypatch.setattr(identifier_words, "_beginning", lambda known, heard: np.ones(len(known), dtype=bool))
    assert quick == found(cells, identifiers, who)


def test_own_identifiers_are_looked_for_whatever_was_read_before() -> None:
    """The rows that come with a release are looked at themselves, not what a first pass remembers of them."""
    known = Hidden()
    known.read([pl.Series("name", ["Nobody Else"] * 6)], None)
    names = [f"Mia Wolf{number}" for number in range(6)]
    named = Named(known, [])
    named.see(Coded(pl.DataFrame({"note": names})), [pl.Series("name", names)])
    assert not named.own().passed


@pytest.mark.parametrize("part", [1, 2, 3])
def test_identifiers_are_taken_apart_in_parts(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    names = ["Ann Berg", "Berg-Ek Cid", "x", "Ann Ann", "d@e.org Fay"]
    monkeypatch.setattr(identifier_words, "_PART", part)
    known = Hidden()
    known.read([pl.Series("name", names)], None)
    assert set(known.every_word("name")["word"]) == {"ann", "berg", "cid", "bergek", "fay"}
    rare = known.rare_words("name")
    assert rare is not None
    assert dict(rare.iter_rows()) == {"ann": 2, "berg": 2, "cid": 1, "bergek": 1, "fay": 1}


def test_identifiers_are_put_together_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifier_words, "_ROOM", 4)
    known = Hidden()
    for _ in range(5):
        known.read([pl.Series("name", ["Ann Ek", "Bo Berg", "Ann Ek"])], None)
    assert sorted(known._texts["name"].counted().iter_rows()) == [("Ann Ek", 10), ("Bo Berg", 5)]
