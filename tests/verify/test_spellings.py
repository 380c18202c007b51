"""Spellings of names, numbers and dates that are generated: the gate finds them all, and none in honest text.

The oracle is the generator: it writes an identifier in a way that people read as the same, so the gate has to find it,
or text of other words, numbers and dates, in which there is nothing to find.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

from tests.conftest import many
from tests.verify.whole import check_anybody, check_identifier_values, check_words

PARTS = ["ba", "do", "gri", "hal", "ken", "lu", "mar", "no", "pol", "ra", "ste", "to", "vi", "wal", "zi"]
VOCABULARY = ["seen", "today", "pain", "better", "review", "stable", "cough", "night", "dose", "weeks", "mild", "since"]
# First letters and digits of blocks in Unicode whose letters or digits follow each other in the usual order.
CAPITALS = ["𝐀", "𝑨", "𝓐", "𝔸", "𝖠", "𝗔", "𝘼", "𝙰", "Ａ", "Ⓐ"]
SMALL = ["𝐚", "𝒂", "𝓪", "𝕒", "𝖺", "𝗮", "𝙖", "𝚊", "ａ", "ⓐ"]
ZEROS = ["٠", "۰", "०", "০", "๐", "０", "𝟎", "𝟘", "𝟶", "߀"]
MONTHS = {
    "en": [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    "de": [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ],
    "fr": [
        "janvier",
        "février",
        "mars",
        "avril",
        "mai",
        "juin",
        "juillet",
        "août",
        "septembre",
        "octobre",
        "novembre",
        "décembre",
    ],
    "es": [
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ],
}
Draw = np.random.Generator


def pick(draw: Draw, options: list[str]) -> str:
    return options[int(draw.integers(len(options)))]


def people(draw: Draw, count: int) -> list[str]:
    """Different names of a given name and a surname, of seven letters and more each."""
    found: dict[str, None] = {}
    while len(found) < count:
        first, last = ("".join(pick(draw, PARTS) for _ in range(4)).title() for _ in range(2))
        found[f"{first} {last}"] = None
    return list(found)


def other_letters(draw: Draw, text: str) -> str:
    block = int(draw.integers(len(CAPITALS)))
    moved = {chr(65 + place): chr(ord(CAPITALS[block]) + place) for place in range(26)}
    moved |= {chr(97 + place): chr(ord(SMALL[block]) + place) for place in range(26)}
    return "".join(moved.get(letter, letter) for letter in text)


def other_digits(draw: Draw, text: str) -> str:
    zero = pick(draw, ZEROS)
    return "".join(chr(ord(zero) + int(letter)) if letter.isascii() and letter.isdigit() else letter for letter in text)


def spaced(draw: Draw, text: str) -> str:
    mark = pick(draw, [" ", ".", "-", "_", ". ", "·", "*"])
    return "   ".join(mark.join(word) for word in text.split())


def accented(draw: Draw, text: str) -> str:
    place = int(draw.integers(1, len(text) - 1))
    return text[: place + 1] + ("\u0301" if text[place].isalpha() else "") + text[place + 1 :]


def unseen(draw: Draw, text: str) -> str:
    place = int(draw.integers(1, len(text) - 1))
    return text[:place] + pick(draw, ["\u200b", "\u00ad", "\u2060", "\ufeff"]) + text[place:]


def turned(draw: Draw, text: str) -> str:
    return pick(draw, [", ", " ", "/", "; "]).join(reversed(text.split()))


def loud(draw: Draw, text: str) -> str:
    return pick(draw, [text.upper(), text.lower(), text.swapcase()])


NAMES: list[Callable[[Draw, str], str]] = [other_letters, spaced, accented, unseen, turned, loud]


def sentence(draw: Draw, *inside: str) -> str:
    words = [pick(draw, VOCABULARY) for _ in range(4)]
    words[2:2] = inside
    return " ".join(words)


def write_date(draw: Draw, day: date) -> str:
    """Write a date in one of its usual spellings; none of them is another date's as well."""
    language = pick(draw, list(MONTHS))
    month = MONTHS[language][day.month - 1]
    plain = [
        f"{day:%Y-%m-%d}",
        f"{day:%d.%m.%Y}",
        f"{day.day}/{day.month}/{day.year}",
        f"{day:%m/%d/%Y}",
        f"{day:%d-%m-%Y}",
        f"{day:%Y%m%d}",
    ]
    named = [
        f"{day.day}. {month} {day.year}",
        f"{day.day} {month[:3] if language == 'en' else month} {day.year}",
        f"{month} {day.day}, {day.year}",
    ]
    return pick(draw, [*plain, *named, f"{day.year}年{day.month}月{day.day}日"])


@pytest.mark.parametrize("seed", range(many(8, 250)))
def test_names_are_found_however_they_are_spelt(seed: int) -> None:
    draw = np.random.default_rng(seed)
    names = people(draw, 60)
    cells = [sentence(draw) for _ in names]
    hidden = pl.Series("name", names)
    frame = pl.DataFrame({"note": cells})
    assert check_anybody([frame], [hidden], None).passed
    assert not check_words(frame.get_columns(), [hidden], [hidden], None, ())
    assert check_identifier_values(frame, [hidden]).passed
    spelt = names[int(draw.integers(60))]
    for change in draw.permutation(len(NAMES))[:2]:
        spelt = NAMES[change](draw, spelt) if change != 1 or spelt.isascii() else spelt
    row = int(draw.integers(60))
    cells[row] = sentence(draw, spelt)
    frame = pl.DataFrame({"note": cells})
    assert not check_anybody([frame], [hidden], None).passed, ascii(spelt)


@pytest.mark.parametrize("seed", range(many(8, 150)))
def test_numbers_are_found_however_they_are_spelt(seed: int) -> None:
    draw = np.random.default_rng(seed)
    numbers = [str(one) for one in np.unique(draw.integers(100_000_000, 1_000_000_000, 70))[:60]]
    hidden = pl.Series("number", numbers)
    cells = [sentence(draw, str(draw.integers(1000))) for _ in numbers]
    assert check_anybody([pl.DataFrame({"note": cells})], [hidden], None).passed
    one = numbers[int(draw.integers(60))]
    grouped = pick(
        draw, [one, f"{one[:3]} {one[3:6]} {one[6:]}", f"{one[:4]}-{one[4:]}", f"{one[:3]}/{one[3:]}", " ".join(one)]
    )
    cells[int(draw.integers(60))] = sentence(draw, other_digits(draw, grouped))
    assert not check_anybody([pl.DataFrame({"note": cells})], [hidden], None).passed, ascii(grouped)


@pytest.mark.parametrize("seed", range(many(8, 150)))
def test_dates_are_found_however_they_are_spelt(seed: int) -> None:
    draw = np.random.default_rng(seed)
    born = [date(1930, 1, 1) + timedelta(days=int(day)) for day in draw.integers(0, 20_000, 60)]
    seen = [date(2020, 1, 1) + timedelta(days=int(day)) for day in draw.integers(0, 1000, 60)]
    cells = [sentence(draw, f"{day:%Y-%m-%d}") for day in seen]
    hidden = pl.Series(
        "born", born if seed % 2 else [write_date(draw, day) if day.day > 12 else f"{day}" for day in born]
    )
    if not seed % 2:
        hidden = pl.Series(
            "born", [f"{day:%Y-%m-%d}" if text.isdigit() else text for day, text in zip(born, hidden, strict=True)]
        )
    assert check_identifier_values(pl.DataFrame({"note": cells}), [hidden]).passed
    row = int(draw.integers(60))
    written = write_date(draw, born[row])
    cells[row] = sentence(draw, other_digits(draw, written) if draw.integers(2) else written)
    check = check_identifier_values(pl.DataFrame({"note": cells}), [hidden])
    assert check.detail == "Identifiers are left in the release: 1 cells of 'note' hold their row's 'born'.", ascii(
        written
    )


def test_the_blocks_of_letters_and_digits_are_what_they_are_taken_for() -> None:
    for first in (*CAPITALS, *SMALL):
        assert unicodedata.normalize("NFKC", first) in ("A", "a")
    assert all(unicodedata.digit(zero) == 0 for zero in ZEROS)
