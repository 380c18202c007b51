"""What follows from told codes of a grading, held against an attacker who deduces what the release lets them deduce."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from shoal.errors import ParameterError
from shoal.recoding.grading import RULES, GradingTable
from shoal.vault.grading_inference import Steps
from shoal.vault.leaks import Known, leak
from shoal.vault.protocol.recount import Counter
from shoal.vault.protocol.statements import Released

WIDEST = 600


def graded(draw: np.random.Generator, numbers: np.ndarray, decimals: int | None, rule: str) -> tuple[np.ndarray, ...]:
    """Codes of some numbers in a random number of categories, and the numbers."""
    cuts = np.sort(draw.choice(np.arange(1, len(numbers)), min(len(numbers) - 1, int(draw.integers(1, 7))), False))
    parts = np.split(numbers, cuts)
    step = 2 if rule == "table8" else 1
    table = GradingTable(
        "x", bounds=[(Decimal(repr(one[0].item())), Decimal(repr(one[-1].item()))) for one in parts],
        names=list(range(step, step * len(parts) + 1, step)), rule=rule, decimals=decimals,
    )  # fmt: skip
    return table.encode_numbers(numbers), numbers


def attack(codes: np.ndarray, told: Mapping[int, float], unit: float | None, rule: str) -> dict[int, float]:
    """Values by place that somebody deduces from all codes, some values, and how the values are written.

    They try every width that a category may have, take the least at which all its codes fall on values, and go on until
    nothing new follows: within a category, and into those that just fit between two others.
    """
    known, name = dict(told), np.floor(codes)
    if rule == "table8":
        name = np.where((codes == name) & (name % 2 == 1), name - 1, name)
    shares = (codes - name) / (0.999 if rule == "scaled" else 1.0)
    shares = np.where((rule == "paper") & (np.abs(codes - name - 0.999) < 1e-12), 1.0, shares)
    places = [np.flatnonzero(name == one) for one in np.unique(name)]
    widths = [_width(shares[one]) if unit is not None else None for one in places]
    while True:
        before, ends = len(known), {}
        for at, (inside, width) in enumerate(zip(places, widths, strict=True)):
            have = [one for one in inside if one in known]
            span = None
            if len(have) >= 2:
                span = (known[have[1]] - known[have[0]]) / (shares[have[1]] - shares[have[0]])
            elif have and width is not None and unit is not None:
                span = width * unit
            if have and span is not None:
                low = known[have[0]] - shares[have[0]] * span
                ends[at] = (low, low + span)
                known.update({int(one): low + float(shares[one]) * span for one in inside})
        for low, high in zip(sorted(ends), sorted(ends)[1:], strict=False):
            between = widths[low + 1 : high]
            if unit is None or not between or None in between:
                continue
            needed = sum(width + 1 for width in between if width is not None) * unit
            if abs(ends[high][0] - ends[low][1] - unit - needed) < unit / 2:
                start = ends[low][1] + unit
                for inside, width in zip(places[low + 1 : high], between, strict=True):
                    known.update({int(one): start + float(shares[one]) * (width or 0) * unit for one in inside})
                    start += ((width or 0) + 1) * unit
        if len(known) == before:
            return known


def _width(shares: np.ndarray) -> int | None:
    """Only what lies between the ends says anything."""
    if not ((shares > 1e-9) & (shares < 1 - 1e-9)).any():
        return 0 if len(shares) == 1 else None
    tried = np.outer(np.arange(2, WIDEST), shares)
    fits = np.flatnonzero((np.abs(tried - np.rint(tried)) < 1e-9).all(axis=1))
    return int(fits[0]) + 2 if len(fits) else None


def columns() -> Iterator[tuple[str, np.random.Generator, np.ndarray, int | None]]:
    """Numbers as tables have them: dense and sparse whole ones, days, prices, and numbers of any length."""
    for seed in range(20):
        draw = np.random.default_rng(seed)
        size = int(draw.integers(8, 80))
        yield "ages", draw, np.unique(draw.integers(17, 91, 4 * size)), 0
        yield "incomes", draw, np.unique(draw.integers(0, 50 * size, size)), 0
        yield "days", draw, np.unique(draw.integers(19_000, 19_400, 3 * size)), 0
        yield "prices", draw, np.unique(np.round(draw.random(size) * 8, 2)), 2
        yield "lengths", draw, np.unique(draw.normal(size=size)), None


@pytest.mark.parametrize("rule", RULES)
def test_no_less_is_counted_than_an_attacker_deduces(rule: str) -> None:
    right: dict[str, list[bool]] = {}
    for what, draw, numbers, decimals in columns():
        try:
            codes, values = graded(draw, numbers, decimals, rule)
        except ParameterError:  # which 'paper' refuses
            continue
        told = draw.choice(len(codes), int(draw.integers(1, 4)), replace=False)
        unit = None if decimals is None else 10.0**-decimals
        found = attack(codes, {int(one): float(values[one]) for one in told}, unit, rule)
        mask = np.zeros(len(codes), dtype=bool)
        mask[told] = True
        counted = Steps(codes).follow(mask)
        assert set(found) <= set(np.flatnonzero(counted)), (what, rule)
        more = set(found) - set(map(int, told))
        right.setdefault(what, []).extend(abs(found[one] - values[one]) < 1e-6 for one in more)
    # The attacker is no straw man: what is deduced is there, and is nearly always so.
    for what in ("ages", "incomes", "days", "prices"):
        assert len(right[what]) > 100, what
        assert np.mean(right[what]) > 0.95, what
    assert right["lengths"]  # by two of a category
    assert all(right["lengths"])


def counter(codes: np.ndarray, rows: int = 20) -> Counter:
    return Counter(Released.of(pl.DataFrame({"x": np.repeat(codes, rows)}), {"x": "grading"}))


def test_one_code_of_whole_numbers_tells_its_category() -> None:
    ages = np.arange(20, 60)
    codes = np.where(ages < 40, 1 + 0.999 * (ages - 20) / 19, 2 + 0.999 * (ages - 40) / 19)
    found = leak("x", Known.of([("x", float(codes[7]))]), counter(codes))
    assert (found.told, found.implied) == (1, 19)
    assert (found.read, found.guessed) == pytest.approx((0.5, 1.0))
    assert "50% of the records (100% if no value is missing between categories)" in found.sentence


def test_one_of_two_ends_tells_nothing_of_the_other() -> None:
    codes = np.array([1.0, 1.999, 2.0, 2.999])
    assert Steps(codes).follow(codes == 1.0).tolist() == [True, False, False, False]


def test_numbers_of_any_length_show_no_step() -> None:
    places = np.sort(np.random.default_rng(3).random(30))
    codes = np.concatenate([1 + 0.999 * places, 2 + 0.999 * places[:1]])
    steps = Steps(codes)
    assert steps.follow(np.arange(31) == 4).sum() == 1
    assert steps.follow(np.isin(np.arange(31), (4, 9))).sum() == 30
    assert leak("x", Known.of([("x", float(codes[4]))]), counter(codes)).implied == 0


def test_steps_of_cents_over_millions_show() -> None:
    """A hundred million places, of which three hundred are taken: fractions of single codes would not do."""
    cents = np.unique(np.random.default_rng(4).integers(0, 100_000_000, 300))
    codes = 3 + 0.999 * (cents - cents[0]) / (cents[-1] - cents[0])
    (one,) = Steps(codes).categories
    assert one.stepped
    assert one.width == cents[-1] - cents[0]


def test_a_category_that_just_fits_between_two_known_ones_is_known() -> None:
    ages = np.arange(20, 50)
    codes = np.floor_divide(ages, 10) - 1 + 0.999 * (ages % 10) / 9
    known = Steps(codes).follow(np.isin(ages, (22, 48)))
    assert known.all()
    assert Steps(codes).follow(ages == 22).sum() == 10


def test_codes_of_another_release_tell_of_those_of_this_one() -> None:
    """Two releases of one grading that have no code in common, as incomes hardly do."""
    places = np.sort(np.random.default_rng(5).random(60))
    codes = np.concatenate([1 + 0.999 * places, 2 + 0.999 * places])
    mine = counter(codes[::2])
    two = Known.of(("x", float(code)) for code in codes[[11, 31]])
    found = leak("x", two, mine)
    assert (found.told, found.implied) == (0, 30)
    assert found.read == pytest.approx(0.5)
    one = leak("x", Known.of([("x", float(codes[61]))]), mine)
    assert (one.implied, one.read) == (0, 0.0)
    assert 0 < one.bits <= 1.0  # which side of it a record is on
