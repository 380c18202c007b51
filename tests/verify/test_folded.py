"""Texts as people read them: spellings that meet, and those that stay apart."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from shoal.verify.folding import dates, fold, joined_words, number_key, numbers, plain_texts, words


def read(function: Callable[[pl.Expr], pl.Expr], text: str) -> object:
    return pl.select(function(pl.lit(text))).item() if function in (fold, number_key) else listed(function, text)


def listed(function: Callable[[pl.Expr], pl.Expr], text: str) -> list[str]:
    return pl.select(function(pl.lit(text))).to_series().to_list()[0]


def test_plain_texts() -> None:
    given = pl.Series("name", [" Ann ", "*", "<missing>", "", "  ", None, "* "])
    found = plain_texts(given)
    assert (found.name, found.to_list()) == ("name", ["Ann", None, None, None, None, None, None])
    assert plain_texts(pl.Series("n", [1, None])).to_list() == ["1", None]


@pytest.mark.parametrize("text, plain", [
    ("𝐀𝐧𝐧𝐚 𝓑𝓮𝓻𝓰", "Anna Berg"), ("Ａｎｎａ", "Anna"), ("Ⓐnna", "Anna"), ("١٢٣٤٥٦٧", "1234567"), ("１２३", "123"),
    ("𝟙𝟚𝟛", "123"),
    ("A n n a", "Anna"), ("A.n.n.a", "Anna"), ("A-n-n-a", "Anna"), ("A_n_n_a", "Anna"), ("A. n. n. a.", "Anna."),
    ("seen A n n a today", "seen Anna today"), ("Ä n n e", "Änne"), ("A n", "A n"),
    ("J. F. Kennedy", "J. F. Kennedy"),
    ("J.R.R. Tolkien", "JRR. Tolkien"), ("An n a b", "An nab"), ("A    n    n", "A    n    n"), ("1 2 3", "1 2 3"),
    ("1957–03−12", "1957-03-12"), ("1957·03•12", "1957.03.12"), ("12⁄3∕57", "12/3/57"),
    ("a 1 b 2 c", "a 1 b 2 c"), ("\u200b𝐀\u00adnna", "Anna"),
])  # fmt: skip
def test_letters_and_digits_of_other_forms(text: str, plain: str) -> None:
    given = pl.Series([text, None, "x"])
    assert plain_texts(given).to_list() == [plain, None, "x"]
    assert given[0] == text


DAY = ["1957-03-12"]


@pytest.mark.parametrize("text, found", [
    ("1957-03-12", DAY), ("born 1957/3/12", DAY), ("1957.03.12", DAY), ("19570312", DAY), ("12. März 1957", DAY),
    ("12 Maerz 1957", DAY),
    ("12 March 1957", DAY), ("March 12, 1957", DAY), ("Mar 12th, 1957", DAY), ("the 12th of March 1957", DAY),
    ("12-MAR-1957", DAY),
    ("12mar1957", DAY), ("12 mars 1957", DAY), ("12 de marzo de 1957", DAY), ("12 marzo 1957", DAY),
    ("12 maart 1957", DAY),
    ("12 de março de 1957", DAY), ("1957 March 12", DAY), ("1957年3月12日", DAY), ("1957-03-12T10:20", DAY),
    ("1957-03-12 00:00:00", DAY),
    ("٢٥/٠٣/١٩٥٧", ["1957-03-25"]), ("25.3.1957", ["1957-03-25"]), ("3/25/1957", ["1957-03-25"]),
    ("12.03.1957", ["1957-03-12", "1957-12-03"]),
    ("25.3.57", ["1957-03-25", "2057-03-25"]), ("25 March 57", ["1957-03-25", "2057-03-25"]),
    ("25 . 03 . 1957", ["1957-03-25"]),
    ("1957-02-30", []), ("1957-13-01", []), ("195703123", []), ("1957", []), ("March 1957", []),
    ("12 apples 1957", []), ("25.3.957", []),
    ("25.03.1957 and 1 May 2001", ["1957-03-25", "2001-05-01"]),
    ("x 1957–03–25", ["1957-03-25"]), ("x 1957−03−25", ["1957-03-25"]), ("x 1957·03·25", ["1957-03-25"]),
    ("x 1957_03_25", ["1957-03-25"]), ("x 25_03_1957", ["1957-03-25"]), ("x 25|03|1957", ["1957-03-25"]),
    ("x 25 03 1957", ["1957-03-25"]), ("x 1957 03 25", ["1957-03-25"]), ("x 25:03:1957", ["1957-03-25"]),
    ("x 25,03,1957", ["1957-03-25"]), ("x 1957  -  03  -  25", ["1957-03-25"]),
    ("25 Mar '57", ["1957-03-25", "2057-03-25"]),
    ("25. III. 1957", ["1957-03-25"]), ("25 III 1957", ["1957-03-25"]), ("25.X.1957", ["1957-10-25"]),
    ("25th day of March 1957", ["1957-03-25"]),
    ("visit 2. 25.03.1957", ["1903-02-25", "1957-03-25", "2003-02-25"]), ("5 3 25 03 1957", ["1957-03-25"]),
    ("2.25.03.1957", ["1957-03-25"]), ("12 25.03.1957 10:20", ["1957-03-25"]),
    ("2019-03-12 2020-05-05", ["2019-03-12", "2020-05-05"]),
    ("10.12.19.57", []), ("192.168.1.12", []), ("06.12.34.56.78", []), ("v 1.2.57.3", []), ("120/80 57", []),
    ("3.5 mg", []), ("12/8 12.5", []), ("10 x 1957", []), ("10 x 10 x 1957", []), ("12 25 57", []), ("12,25,57", []),
    ("1.250.000", []), ("5 mg iv 1957", []), ("12 of 12 1957", []), ("12/3 1957", []), ("10:20:57", []),
])  # fmt: skip
def test_dates_of_a_text(text: str, found: list[str]) -> None:
    read = dates(plain_texts(pl.Series(["x", text])))
    assert (sorted(read["key"]), set(read["place"])) == (found, {1} if found else set())


@pytest.mark.parametrize("text, whole", [
    ("1957-03-12", True), ("1957-03-12 10:20:30.5", True), ("12 March 1957", True), ("1957年3月12日", True),
    ("19570312", False),
    ("born 1957-03-12", False), ("1957-03-12-0042", False), ("25.03.1957 Berlin", False),
])  # fmt: skip
def test_texts_that_are_a_date(text: str, whole: bool) -> None:
    assert bool(dates(plain_texts(pl.Series([text])), whole=True).height) is whole


@pytest.mark.parametrize("texts, folded", [
    (["𝐌üller", "Ｍｕｅｌｌｅｒ"], "muller"),
    (["Müller", "Mueller", "MULLER", "Mu\u0308ller", "Mül\u00adler"], "muller"),
    (["Groß", "GROSS"], "gross"),
    (["Łódź", "Lodz"], "lodz"),
    (["Ærø", "Aero"], "aro"),
    (["Æsa", "Aesa"], "asa"),
    (["Þór", "Thor"], "thor"),
])  # fmt: skip
def test_spellings_of_one_name_meet(texts: list[str], folded: str) -> None:
    assert {read(fold, text) for text in texts} == {folded}


def test_words() -> None:
    assert listed(words, "Dr. O'Reilly-Smith, 42b") == ["dr", "o", "reilly", "smith", "42", "b"]
    assert listed(joined_words, "Dr. O'Reilly-Smith, 42b") == ["dr", "oreillysmith", "42", "b"]


@pytest.mark.parametrize("text, key", [
    ("12345", None), ("123456", "123456"), ("123456789", "123456789"), ("0123456789", "123456789"),
    ("+49 123 456 789", "123456789"), ("1002345678", "2345678"), ("000012", "12"), ("", None), ("a1b2c3", None),
    ("99123456789", "123456789"),
])  # fmt: skip
def test_a_number_is_known_by_its_last_nine_digits(text: str, key: str | None) -> None:
    assert read(number_key, text) == key


@pytest.mark.parametrize("text, found", [
    ("call 0171 234567 now", ["171234567", "234567"]),
    ("on 2026-01-31 at 12", []),
    ("31.01.2026 and 31/1/26", []),
    ("no. 1234567 of 2026-01-31", ["1234567"]),
    ("01.02.03.4567", ["102034567"]),
    ("123456 / 123456", ["456123456", "123456"]),
    ("12345", []),
    ("ref 123456\u20137890", ["234567890", "123456"]),
    ("0171_555_0123", ["715550123"]), ("0171,5550123", ["715550123", "5550123"]), ("555,555,0123", ["555550123"]),
    ("1,250,000", []), ("120,130,140", []), ("12,50", []), ("1957_03_12", []), ("12_03_1957", []),
])  # fmt: skip
def test_long_numbers_of_a_text(text: str, found: list[str]) -> None:
    assert sorted(listed(numbers, plain_texts(pl.Series([text]))[0])) == sorted(found)
