"""Pseudonyms and date shifts: keyed, the same for the same person, and unknowable without the key."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.keys import Keys
from shoal.errors import DomainError, InputError, InternalError, ParameterError
from shoal.recoding import secrets as module
from shoal.recoding.secrets import day_offsets, shift_dates, tokens

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
PEOPLE = pl.Series("who", [f"p{number}" for number in range(3000)])


def test_private_bytes_are_fresh_unless_seeded() -> None:
    fresh, seeded = Keys(b"\x01" * 32), Keys.from_seed(1)
    assert fresh.private_bytes("a", 32) != fresh.private_bytes("a", 32)
    assert seeded.private_bytes("a", 32) == Keys.from_seed(1).private_bytes("a", 32)
    assert seeded.private_bytes("a", 32) != seeded.private_bytes("b", 32)
    assert seeded.private_bytes("a", 32) != Keys.from_seed(2).private_bytes("a", 32)
    assert not Keys.from_seed(None).seeded


def test_private_orders_are_uniform_permutations() -> None:
    found = Counter(tuple(Keys.from_seed(seed).private_order("x", 3).tolist()) for seed in range(1200))
    assert set(map(tuple, map(sorted, found))) == {(0, 1, 2)}
    assert len(found) == 6
    assert min(found.values()) > 140  # 200 expected; 4.6 standard deviations
    assert Keys.from_seed(1).private_order("x", 0).tolist() == []


@given(st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=30))
def test_tokens_are_the_keyed_digests_of_the_values(values: list[str | None]) -> None:
    made = tokens(pl.Series("who", values, dtype=pl.String), KEY)
    expected = [
        None if value is None else hmac.new(KEY, b"shoal token\0" + value.encode(), hashlib.sha256).hexdigest()[:32]
        for value in values
    ]
    assert made.to_list() == expected


def test_tokens_depend_on_the_key_and_on_nothing_else() -> None:
    one = tokens(PEOPLE, KEY)
    assert one.n_unique() == PEOPLE.len()
    assert one.equals(tokens(PEOPLE.reverse(), KEY).reverse())
    assert not one.is_in(tokens(PEOPLE, OTHER).to_list()).any()
    assert tokens(pl.Series([7]), KEY).to_list() == tokens(pl.Series(["7"]), KEY).to_list()


@pytest.mark.parametrize("bits", [128, 160, 256])
def test_tokens_have_the_length_asked_for(bits: int) -> None:
    assert tokens(PEOPLE, KEY, bits=bits).str.len_bytes().unique().to_list() == [bits // 4]


@pytest.mark.parametrize("bits", [64, 127, 130, 264, "128"])
def test_weak_tokens_are_refused(bits: object) -> None:
    with pytest.raises(ParameterError, match="bits"):
        tokens(PEOPLE, KEY, bits=bits)  # type: ignore[arg-type]


def test_a_short_key_is_refused() -> None:
    for make in (lambda: tokens(PEOPLE, b"x" * 31), lambda: day_offsets(PEOPLE, b"x" * 31, days=3)):
        with pytest.raises(ParameterError, match="32 bytes"):
            make()


def test_a_collision_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "keyed_digests", lambda texts, key, purpose: [b"\0" * 32 for _ in texts])
    with pytest.raises(InternalError, match="same token") as refused:
        tokens(PEOPLE, KEY)
    assert "p1" not in str(refused.value)


def test_offsets_are_uniform_and_reach_both_ends() -> None:
    moves = day_offsets(PEOPLE, KEY, days=5)
    counts = moves.value_counts().sort("offset")
    assert counts["offset"].to_list() == list(range(-5, 6))
    assert (counts["count"] - 3000 / 11).abs().max() < 5 * np.sqrt(3000 / 11)
    assert not moves.equals(day_offsets(PEOPLE, OTHER, days=5))


def test_an_offset_says_nothing_about_the_token() -> None:
    """Tokens and offsets may share a key: an offset is no part of the token."""
    parity = tokens(PEOPLE, KEY).map_elements(lambda token: int(token, 16) % 11, return_dtype=pl.Int64)
    assert abs(np.corrcoef(parity, day_offsets(PEOPLE, KEY, days=5))[0, 1]) < 0.08


@given(
    st.lists(st.tuples(st.integers(0, 5), st.dates(dt.date(1990, 1, 1), dt.date(2030, 1, 1))), min_size=1, max_size=40),
    st.integers(1, 400),
)
def test_all_dates_of_a_person_move_alike(rows: list[tuple[int, dt.date]], days: int) -> None:
    who, when = pl.Series([f"p{person}" for person, _ in rows]), pl.Series("day", [date for _, date in rows])
    moved = shift_dates(when, who, KEY, days=days)
    moves = (moved - when).dt.total_days()
    assert moves.abs().max() <= days
    assert pl.DataFrame({"who": who, "move": moves}).group_by("who").agg(pl.col("move").n_unique())["move"].max() == 1
    assert moved.dtype == pl.Date


def test_dates_keep_their_type_and_missing_cells() -> None:
    who = pl.Series(["a", "a", "b"])
    text = shift_dates(pl.Series("d", ["31.12.1999", None, "01.03.2020"]), who, KEY, days=9, format="%d.%m.%Y")
    iso = shift_dates(pl.Series("d", ["1999-12-31", None, "2020-03-01"]), who, KEY, days=9)
    time = shift_dates(pl.Series("d", [dt.datetime(1999, 12, 31), None, dt.datetime(2020, 3, 1)]), who, KEY, days=9)
    assert text.str.to_date("%d.%m.%Y").equals(iso.str.to_date())
    assert time.dtype == pl.Datetime
    assert time.cast(pl.Date).equals(iso.str.to_date())
    assert iso[1] is None


def test_dates_that_cannot_be_shifted() -> None:
    who = pl.Series("who", ["a", None])
    with pytest.raises(InputError, match="missing"):
        shift_dates(pl.Series("d", [dt.date(2000, 1, 1)] * 2), who, KEY, days=3)
    with pytest.raises(ParameterError, match="days"):
        day_offsets(PEOPLE, KEY, days=0)
    edge = pl.Series("d", [dt.date(9999, 12, 31)] * 50)
    with pytest.raises(DomainError, match="9999"):
        shift_dates(edge, PEOPLE[:50], KEY, days=100)
