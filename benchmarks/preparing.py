"""What stands before and after any method: hierarchies, a census, texts of intervals, against plain Polars sorts."""

from __future__ import annotations

import polars as pl

from benchmarks.harness import Comparison, case, run
from shoal.data.hierarchy import Hierarchy
from shoal.io.census import generate
from shoal.recoding.cell_text import interval_texts

CODES = [f"{number:05d}" for number in range(100_000)]


@case("a hierarchy of 100,000 leaves / a sorted frame of its rows")
def hierarchy() -> Comparison:
    rows = [[code, code[:4] + "*", code[:3] + "**", code[:2] + "***", "*"] for code in reversed(CODES)]
    names = [f"level {level}" for level in range(5)]

    def frame() -> pl.DataFrame:
        return pl.DataFrame(rows, orient="row", schema=names).sort(names[::-1])

    return Comparison(lambda: Hierarchy.from_rows("zip", rows), frame, 20.0)


@case("texts of 100,000 intervals / their concatenation")
def intervals() -> Comparison:
    ends = pl.DataFrame({"low": range(100_000)}).with_columns(high=pl.col("low") + pl.col("low") % 3)
    texts = ends.cast(pl.String)
    joined = pl.format("[{},{}]", "low", "high")
    return Comparison(lambda: interval_texts(texts["low"], texts["high"]), lambda: texts.select(joined), 90.0)


@case("a census of 250,000 rows / a sort of it")
def census() -> Comparison:
    frame = generate(250_000)
    return Comparison(lambda: generate(250_000), lambda: frame.sort(frame.columns), 5.0)


if __name__ == "__main__":
    run([hierarchy, intervals, census])
