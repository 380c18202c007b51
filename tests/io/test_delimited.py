"""Delimited text: whatever is accepted reads as Python's csv module reads it, everything else is refused."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError, ParameterError
from shoal.io.csv import parse
from shoal.io.text import Text


def text_of(content: str | bytes) -> Text:
    data = content.encode() if isinstance(content, str) else content
    return Text("t.csv", data, data)


def rows(content: str, *, separator: str = ",", columns=None, markers=()) -> list[tuple]:
    return parse(text_of(content), separator=separator, columns=columns, markers=markers).rows()


def refused(content: str | bytes, *, separator: str = ",", columns=None) -> str:
    with pytest.raises(InputError) as caught:
        parse(text_of(content), separator=separator, columns=columns, markers=())
    message = str(caught.value)
    assert "t.csv" in message
    assert "secret" not in message
    return message


@pytest.mark.parametrize(
    "content, expected",
    [
        ("a,b\n1,2\n", [("1", "2")]),
        ("a,b\n1,2", [("1", "2")]),
        ("a,b\r\n1,2\r\n", [("1", "2")]),
        ("a,b\n 1 ,\t2\t\n", [("1", "2")]),
        ('a,b\n" 1 "," "\n', [("1", None)]),
        ("a,b\n,\n", [(None, None)]),
        ('a,b\n"",1\n', [(None, "1")]),
        ('a,b\n"x,y",1\n', [("x,y", "1")]),
        ('a,b\n"x\ny",1\n', [("x\ny", "1")]),
        ('a,b\n"x\r\n\r\ny",\n', [("x\r\n\r\ny", None)]),
        ('a,b\n"say ""hi""",1\n', [('say "hi"', "1")]),
        ('a,b\n"""",1\n', [('"', "1")]),
        ("a,b\n1,2\n\n\n", [("1", "2")]),
        ("a,b\n1,2\r\n\r\n", [("1", "2")]),
        ("\n\na,b\n\n1,2\n\n3,4\n", [("1", "2"), ("3", "4")]),
        ("a,b\n1,2\n   \n3,\n", [("1", "2"), ("3", None)]),
        ("a,b\n1,\n\n,\n3,\n", [("1", None), (None, None), ("3", None)]),
        ('a,b\n"1,1",\n\n,\n3,\n', [("1,1", None), (None, None), ("3", None)]),
        ("a,b\n#1,2\n", [("#1", "2")]),
        ("a,b\n\xa0,é\n", [("\xa0", "é")]),
        ("a,b\nx\ry,1\n", [("x\ry", "1")]),
        ("a,b\nx\ry,\n\n1,2\n", [("x\ry", None), ("1", "2")]),
        ("a\n1\n\n2\n", [("1",), (None,), ("2",)]),
        ("a\n\n1\n", [(None,), ("1",)]),
        ('a,b\n1,""\n', [("1", None)]),
    ],
)
def test_cells(content: str, expected: list[tuple]) -> None:
    assert rows(content) == expected


def test_names_are_trimmed_and_may_be_quoted() -> None:
    frame = parse(text_of(' age ,"x,y"\n1,2\n'), separator=",", columns=None, markers=())
    assert frame.columns == ["age", "x,y"]
    assert frame.rows() == [("1", "2")]


def test_separators_in_header_and_cells_are_not_short_rows() -> None:
    assert rows('"a,b",c\n"1,2",\n"3",""\n') == [("1,2", None), ("3", None)]


def test_markers() -> None:
    assert rows("a,b\n?, NA \n?x,1\n", markers=["?", "NA"]) == [(None, None), ("?x", "1")]


def test_a_marker_that_contains_the_separator() -> None:
    assert rows('a,b\n"n,a",\n1,\n', markers=["n,a"]) == [(None, None), ("1", None)]


@pytest.mark.parametrize("separator", [";", "\t", "|", " ", ":"])
def test_other_separators(separator: str) -> None:
    content = separator.join("abc") + "\n" + separator.join(["1", "", "3"]) + "\n"
    assert rows(content, separator=separator) == [("1", None, "3")]
    assert "2 fields" in refused(content + separator.join("xy") + "\n", separator=separator)


@pytest.mark.parametrize("separator", ["", ",,", "€", '"', "\n", "x", "5"])
def test_a_useless_separator_is_refused(separator: str) -> None:
    with pytest.raises(ParameterError, match="separator must be one character"):
        parse(text_of("a,b\n1,2\n"), separator=separator, columns=None, markers=())


def test_without_header() -> None:
    assert rows("1,2\n3,4\n", columns=["a", "b"]) == [("1", "2"), ("3", "4")]
    assert rows("\n1,\n\n3,\n", columns=["a", "b"]) == [("1", None), ("3", None)]
    assert rows("1\n\n2\n", columns=["a"]) == [("1",), (None,), ("2",)]
    message = refused("1,2\n", columns=["a"])
    assert "2 fields" in message
    assert "1 names" in message
    assert "Row 2 (line 2)" in refused("1,2\nsecret\n", columns=["a", "b"])


@pytest.mark.parametrize(
    "content, where",
    [
        ("a,b,c\n1,2,3\nsecret,2\n4,5,6\n", "Row 2 (line 3)"),
        ("a,b,c\n1,2,3\nsecret\n4,5,6\n", "Row 2 (line 3)"),
        ("a,b,c\nsecret,2\n", "Row 1 (line 2)"),
        ("a,b,c\n1,2,3\nsecret,2", "Row 2 (line 3)"),
        ("a,b,c\n1,2,\n\n\nsecret,2\n", "Row 2 (line 5)"),
        ('a,b,c\n"1\n,1",2,\nsecret,2\n', "Row 2 (line 4)"),
        # A blank line, an empty row and two short rows together lack as many fields as two blank lines.
        ("a,b,c\n,\n\nsecret,2\n1,2,3\n", "Row 1 (line 2)"),
        ("a,b,c\n1,2,3\nsecret,2,3,4\n", "Row 2 (line 3)"),
        ("a,b,c\n1,2,3,\n", "Row 1 (line 2)"),
        ("a,b,c\n1,2,3\nsecret,2,3,4", "Row 2 (line 3)"),
        ("a,b,c\n1,2,3,", "Row 1 (line 2)"),
        ("a,b\nsecret\n1,,", "Row 1 (line 2)"),
    ],
)
def test_ragged_rows_are_refused(content: str, where: str) -> None:
    assert where in refused(content)


@pytest.mark.parametrize(
    "content, line",
    [
        ('a,b\n1,2\n1,"secret\n3,4\n', 3),
        ('a,b\n1,2\n1,se"cret\n', 3),
        ('a,b\n1,2\n1,secret"\n', 3),
        ('a,b\n1,2\n1, "secret"\n', 3),
        ('a,b\n1,2\n1,"secret" \n', 3),
        ('a,b\n1,2\n1,"secret"x\n', 3),
        ('a,b\n1,2\n1,""secret""\n', 3),
        ('a,b\n1,2\n1,secret""\n', 3),
        ('a,b\n1,5"\n2,6"\n', 2),
        ('a,"b\n1,2\n', 1),
    ],
)
def test_quotes_that_readers_disagree_about_are_refused(content: str, line: int) -> None:
    message = refused(content)
    assert f"Line {line} " in message
    assert "quote" in message


@pytest.mark.parametrize(
    "content, part",
    [
        ("\n \n", "blank lines"),
        ("a,a\n1,2\n", "two columns called 'a'"),
        ("a, a \n1,2\n", "two columns called 'a'"),
        ("a,,c\n1,2,3\n", "Column 2"),
        ("a;b\n1;2\n", "contains ';'"),
        ("a\tb\n1\t2\n", "contains a tab"),
        ("a,b\r1,2\r", "carriage returns"),
        (b"a,b\n1,2\n3,\xe9\n", "Line 3"),
        (b"a,\xe9\n1,2\n", "Line 1"),
    ],
)
def test_other_refusals(content: str | bytes, part: str) -> None:
    assert part in refused(content)


def test_given_names_are_checked_too() -> None:
    assert "two columns" in refused("1,2\n", columns=["a", "a"])
    assert "no name" in refused("1,2\n", columns=["a", " "])


def test_a_chunk_border_inside_quotes_blanks_and_separators(monkeypatch: pytest.MonkeyPatch) -> None:
    content = 'a,b\n"x ""y"" ,z", 1 \n"",\n\n'
    expected = rows(content)
    for size in range(1, 12):
        monkeypatch.setattr("shoal.io.csv.CHUNK", size)
        monkeypatch.setattr("shoal.io.text.CHUNK", size)
        assert rows(content) == expected
        assert "Line 2" in refused('a,b\n1,""secret""\n')


def test_no_rows_at_all() -> None:
    assert rows("a,b\n") == []
    assert rows("a,b\n\n\n") == []
    assert rows("a") == []


CELL = st.text(alphabet='ab,"\n é', max_size=5)


@given(
    st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_the_csv_module_writes_is_read_back(
    table: list[tuple[str, ...]], quoted: bool, end: str
) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
    writer.writerow(["a", "b", "c"])
    writer.writerows(table)
    assert rows(out.getvalue()) == [tuple(cell.strip(" \t") or None for cell in row) for row in table]


@given(st.text(alphabet='ab,"\n ', max_size=30))
def test_what_is_accepted_is_what_the_csv_module_reads(body: str) -> None:
    content = "a,b\n" + body
    reference = [
        row for row in csv.reader(io.StringIO(content, newline="")) if "".join(row).strip() or len(row) > 1
    ]
    try:
        found = rows(content)
    except InputError:
        return
    assert found == [tuple(cell.strip(" \t") or None for cell in row) for row in reference[1:]]


def test_a_mapped_file_reads_like_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('a,b\n"1,1",\n2,\n\n', newline="")
    text = Text.open(path, "utf-8")
    assert text.feed == path
    assert parse(text, separator=",", columns=None, markers=()).rows() == [("1,1", None), ("2", None)]
    path.write_text('a,b\n"1,1",\n2\n', newline="")
    with pytest.raises(InputError, match=r"Row 2 \(line 3\)"):
        parse(Text.open(path, "utf-8"), separator=",", columns=None, markers=())
