"""The picture of docs/scale.md shows what its table says."""

from __future__ import annotations

from benchmarks.curves import DOCS, drawing, measured


def test_the_picture_is_drawn_from_the_table() -> None:
    points = measured((DOCS / "scale.md").read_text("utf-8"))
    assert points["duckdb, optimal"][-1][0] == 50
    assert (DOCS / "img" / "scale.svg").read_text("utf-8") == drawing(points)
