"""What a cell is: the same in files and frames of every kind."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.data.values import EDGES, normal_text
from shoal.errors import InputError
from shoal.io.cell_format import check_names, normalise
from shoal.io.files import read_frame

# Cells as they may stand in a source, and what they are.
CELLS = {
    "flu": "flu",
    " flu\t": "flu",
    "\u00a0flu\u2003": "flu",
    "flu\ufeff": "flu",
    "caf\u00e9": "caf\u00e9",
    "cafe\u0301": "caf\u00e9",
    "": None,
    " ": None,
    "<missing>": None,
    " ?": None,
    "1": "1",
    "1.0": "1.0",
    "*": "*",
    "a\nb": "a\nb",
    "\ra": "a",
}


def sources(folder: Path) -> dict[str, object]:
    frame = pl.DataFrame({"q": [str(i) for i in range(len(CELLS))], "s": list(CELLS)})
    frame.write_csv(folder / "x.csv", quote_style="always")
    frame.write_parquet(folder / "x.parquet")
    return {
        "csv": folder / "x.csv",
        "parquet": folder / "x.parquet",
        "polars": frame,
        "pandas": pd.DataFrame(frame.to_dict(as_series=False)),
        "pyarrow": pa.table(frame.to_dict(as_series=False)),
        "categories": frame.with_columns(pl.col("s").cast(pl.Categorical)),
    }


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars", "pandas", "pyarrow", "categories"])
def test_files_and_frames_hold_the_same_cells(tmp_path: Path, kind: str) -> None:
    table = shoal.read(
        sources(tmp_path)[kind], quasi=["q"], sensitive=["s"], missing="value", missing_markers=["?"]
    )
    assert table.frame["s"].to_list() == list(CELLS.values())


def test_one_text_and_a_column_of_texts_are_normalised_alike() -> None:
    texts = [f"{mark}a b{mark}" for mark in EDGES] + ["a\u0301", "a\u0328\u0301", "  ", "x"]
    found = normalise(pl.DataFrame({"a": texts}), "the frame")["a"].to_list()
    assert found == [normal_text(text) or None for text in texts]


def test_zero_bytes_are_refused_with_their_count() -> None:
    frame = pl.DataFrame({"q": ["1", "2", "3"], "s": ["a\0", "b", "\0"]})
    with pytest.raises(InputError, match="Column 's' of the frame has 2 cells with a zero byte"):
        shoal.read(frame, quasi=["q"], sensitive=["s"])


NAMES = ["*", "^a$", "^.*$", "a\rb", "a\nb", "\ta", "a\x00", "\ufeffa", "a\u2028b", " ", ""]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_cannot_be_written_or_are_patterns(name: str) -> None:
    with pytest.raises(InputError, match="olumn 2 of the frame") as caught:
        shoal.read(pl.DataFrame({"q": [1, 2], name: ["x", "y"]}), quasi=["q"], sensitive=[name])
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["*", "^a$", "a\nb"])
def test_names_in_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f'q,"{name}"\n1,2\n')
    with pytest.raises(InputError, match="olumn 2 of 'x.csv'"):
        read_frame(path)
    with pytest.raises(InputError, match="olumn 2 of 'x.csv'"):
        read_frame(path, columns=["q", name])


def test_other_names_stay() -> None:
    check_names(["a.b", "^a", "a$", ".*", "[x]", "a{b}", "age (years)", "gr\u00f6\u00dfe"], "the frame")
