"""Figures: the same bytes every time, labels and arrows, curves that differ in more than colour."""

from __future__ import annotations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from shoal.errors import ParameterError
from shoal_papers.axes import places
from shoal_papers.plots import _LOOKS, _STUDY, Plot, Series, _fill, _lines, _looks, compact, draw

TWO = [
    Series(name="ours", x=[5, 10], y=[0.1, 0.2], low=[0.05, 0.1], high=[0.2, 0.3]),
    Series(name="theirs", x=[5, 10], y=[0.3, 0.4]),
]


@pytest.mark.parametrize("kind", ["line", "bar", "sorted"])
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


def test_the_method_under_study_is_the_strongest_line_and_the_legend_names_each_once() -> None:
    plot = Plot(title="t", x="x", y="y", series=TWO, study="theirs", figure="Fig. 4.3")
    looks = {name: look for name, (look, _) in _looks([plot, plot]).items()}
    assert looks["theirs"]["linewidth"] > 2 * looks["ours"]["linewidth"]
    assert (looks["theirs"]["linestyle"], looks["theirs"]["color"]) == ("-", "0.0")
    assert looks["ours"]["linestyle"] != "-"
    svg = draw([plot, plot])["svg"].decode()
    assert svg.count(">theirs<") == 1
    assert "(a) Fig. 4.3: t" in svg
    assert "(b) Fig. 4.3: t" in svg
    with pytest.raises(ParameterError, match="no series 'nobody'"):
        Plot(title="t", x="x", y="y", series=TWO, study="nobody")


@pytest.mark.parametrize("panels", [1, 2, 3, 4])
def test_the_legend_stands_within_the_figure(panels: int) -> None:
    """Six long names under one panel take several lines."""
    names = ["UPC", "UPC, near leftovers", "Mondrian", "Incognito (c,l)", "Incognito t", "Personalised, in its paper"]
    series = [Series(name=name, x=[5, 10], y=[0.1, 0.2]) for name in names]
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    _fill(figure, [Plot(title="t", x="k", y="UM", series=series, study="UPC")] * panels)
    figure.canvas.draw()
    (legend,) = figure.legends
    box, whole = legend.get_window_extent(), figure.bbox
    assert box.x0 >= whole.x0
    assert box.x1 <= whole.x1
    assert all(axes.get_window_extent().y0 > box.y1 for axes in figure.axes)


def test_a_logarithmic_axis_has_more_than_one_tick() -> None:
    series = [Series(name="ours", x=[5, 10], y=[3.8, 6.4], printed=[3.7, 43.0])]
    figure = Figure()
    FigureCanvasAgg(figure)
    _fill(figure, [Plot(title="t", x="k", y="error", series=series, log_y=True)])
    figure.canvas.draw()
    low, high = figure.axes[0].get_ylim()
    seen = [tick.get_text() for tick in figure.axes[0].get_yticklabels() if low <= tick.get_position()[1] <= high]
    assert seen == ["5", "10", "20"]


def test_printed_values_stand_beside_ours() -> None:
    known = [Series(name="ours", x=[5, 10], y=[0.1, 0.2], printed=[0.15, float("nan")])]
    for kind in ("line", "bar"):
        assert (
            "as printed in the document"
            in draw([Plot(title="t", x="x", y="y", series=known, kind=kind)])["svg"].decode()
        )
    assert "as printed" not in draw([Plot(title="t", x="x", y="y", series=TWO)])["svg"].decode()


def test_every_value_has_its_tick_and_crowded_ones_stand_evenly() -> None:
    at, labels, ordered = places([2, 5, 10, 25, 50, 100])
    assert (list(at.values()), labels, ordered) == ([0, 1, 2, 3, 4, 5], ["2", "5", "10", "25", "50", "100"], True)
    at, labels, ordered = places([10_000, 2500, 5000], log=True)
    assert (at[2500], labels, ordered) == (2500, ["2,500", "5,000", "10,000"], True)
    assert places(["10", "5"])[0] == {"5": 5.0, "10": 10.0}
    assert list(places([0.05, 0.1, 0.5, 1.0])[0].values()) == [0, 1, 2, 3]  # 0.05 would run into 0.1
    assert list(places([0.0, 0.5, 1.0])[0].values()) == [0.0, 0.5, 1.0]
    assert places(range(40))[1] == []
    assert places(["Mondrian", "MRG"]) == ({"Mondrian": 0.0, "MRG": 1.0}, ["Mondrian", "MRG"], False)
    assert places([True])[2] is False


def test_points_without_an_order_have_no_line() -> None:
    series = [Series(name="a", x=["one", "two"], y=[1.0, 2.0], low=[0.5, 1.5], high=[1.5, 2.5])]
    plot = Plot(title="t", x="x", y="y", series=series)
    kinds = []

    class Axes:
        def plot(self, *values: object, **look: object) -> None:
            kinds.append(look["linestyle"])

        def __getattr__(self, name: str) -> object:
            return lambda *values, **options: None

    _lines(Axes(), plot, _looks([plot]))
    assert kinds == ["none"]


def test_no_two_curves_look_alike_in_black_and_white() -> None:
    for part in range(3):
        assert len({look[part] for look in (_STUDY, *_LOOKS)}) == 1 + len(_LOOKS)


def test_a_plot_is_checked() -> None:
    with pytest.raises(ParameterError, match="one of line"):
        Plot(title="t", x="x", y="y", series=TWO, kind="pie")
    with pytest.raises(ParameterError, match="better"):
        Plot(title="t", x="x", y="y", series=TWO, better="left")


def test_compact_drawings_keep_their_texts() -> None:
    svg = b'<path d="M 1.23456 -0.999999 L 20.5 3.10001 z"/><text x="1.23456">0.12345</text>'
    assert compact(svg) == b'<path d="M 1.23 -1 L 20.5 3.1 z"/><text x="1.23456">0.12345</text>'
