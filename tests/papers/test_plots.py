"""Figures: the same bytes every time, labels and arrows, curves that differ in more than colour."""

from __future__ import annotations

import pytest

from shoal.errors import ParameterError
from shoal_papers.plots import _LOOKS, Plot, Series, compact, draw

TWO = [
    Series(name="ours", x=[5, 10], y=[0.1, 0.2], low=[0.05, 0.1], high=[0.2, 0.3]),
    Series(name="theirs", x=[5, 10], y=[0.3, 0.4]),
]


@pytest.mark.parametrize("kind", ["line", "bar", "sorted", "scatter"])
def test_a_figure_is_labelled_and_repeats(kind: str) -> None:
    plot = Plot(title="Loss", x="k", y="UM", series=TWO, kind=kind, better="down", lines={"limit": 0.35})
    first = draw([plot])
    assert first == draw([plot])
    assert first["png"].startswith(b"\x89PNG")
    text = first["svg"].decode()
    for word in ("Loss", "UM (lower is better ↓)", "ours", "theirs", "limit"):
        assert word in text
    assert "<dc:date>" not in text


def test_panels_axes_and_words() -> None:
    words = [Series(name="a", x=["one", "two"], y=[1.0, 2.0])]
    plot = Plot(title="t", x="x", y="y", series=words)
    log = Plot(title="t", x="x", y="y", series=TWO, log_x=True, log_y=True, better="up")
    svg = draw([plot, log])["svg"].decode()
    assert "one" in svg
    assert "higher is better ↑" in svg
    assert "10" in svg


def test_no_two_curves_look_alike_in_black_and_white() -> None:
    for part in range(3):
        assert len({look[part] for look in _LOOKS}) == len(_LOOKS)


def test_a_plot_is_checked() -> None:
    with pytest.raises(ParameterError, match="one of line"):
        Plot(title="t", x="x", y="y", series=TWO, kind="pie")
    with pytest.raises(ParameterError, match="better"):
        Plot(title="t", x="x", y="y", series=TWO, better="left")


def test_compact_drawings_keep_their_texts() -> None:
    svg = b'<path d="M 1.23456 -0.999999 L 20.5 3.10001 z"/><text x="1.23456">0.12345</text>'
    assert compact(svg) == b'<path d="M 1.23 -1 L 20.5 3.1 z"/><text x="1.23456">0.12345</text>'
