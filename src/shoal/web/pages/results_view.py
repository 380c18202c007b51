"""What came of a job, as its page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from shoal.reports.risk import page_data, sections
from shoal.reports.svg import Bar, Dot, bars, columns, percent, plane
from shoal.web.pages.models import figures_told, model_words

_WORST = ("distinct_l", "entropy_l", "recursive_c", "t")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A plot with the same numbers as a table beside it."""

    title: str
    svg: Markup
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class RiskView:
    """The risk of the source as it is."""

    facts: tuple[tuple[str, str], ...]
    groups: Mapping[str, Sequence[Mapping[str, str]]]
    figures: tuple[Figure, ...]
    sensitive: tuple[tuple[str, ...], ...]
    quasi: tuple[str, ...]


def risk_view(found: Mapping[str, Any]) -> RiskView:
    """What a risk assessment found."""
    figures: Mapping[str, Any] = found["figures"]
    drawn = page_data({**found, "class_sizes": {int(size): n for size, n in found["class_sizes"].items()}})
    facts = [("Rows", f"{found['rows']:,}")]
    facts += [("People, once a class", f"{found['records']:,}")] if found["people"] else []
    for name, words in (("prosecutor-max", "Largest risk"), ("prosecutor-mean", "Mean risk"),
                        ("sample-unique", "Alone"), ("prosecutor-above", "At risk")):  # fmt: skip
        facts += [(words, percent(figures[name]["value"]))] if name in figures else []
    drawings = [_sizes(drawn, "people" if found["people"] else "rows")]
    drawings += [_contributions(drawn)] if drawn["columns"] else []
    return RiskView(
        facts=tuple(facts), groups=sections(figures), figures=tuple(drawings), quasi=tuple(found["quasi"]),
        sensitive=tuple((name, *(_number(one.get(key)) for key in _WORST)) for name, one in found["sensitive"].items()),
    )  # fmt: skip


def _sizes(drawn: Mapping[str, Any], who: str) -> Figure:
    total = max(sum(one["records"] for one in drawn["sizes"]), 1)
    shares = [one["records"] / total for one in drawn["sizes"]]
    labels = [one["label"] for one in drawn["sizes"]]
    told = f"{percent(shares[0])} of the {who} are alone on the quasi-identifiers."
    named = who.capitalize()
    return Figure(
        title=f"{named} by how many look the same",
        svg=columns(f"{named} by size of class", told, labels, {"": shares}),
        headings=("Look the same", "Classes", named),
        rows=tuple((one["label"], f"{one['classes']:,}", f"{one['records']:,}") for one in drawn["sizes"]),
    )  # fmt: skip


def _contributions(drawn: Mapping[str, Any]) -> Figure:
    falls = dict(zip(drawn["columns"], zip(drawn["mean_drop"], drawn["unique_drop"], strict=True), strict=True))
    most = max(falls, key=lambda name: falls[name][0])
    told = f"Without {most}, the mean risk would fall by {percent(falls[most][0])}."
    given = [Bar(label=name, value=max(mean, 0.0)) for name, (mean, _) in falls.items()]
    return Figure(
        title="What each quasi-identifier adds to the mean risk", svg=bars("Contributions", told, given),
        headings=("Left out", "Mean risk falls by", "Alone falls by"),
        rows=tuple((name, percent(mean), percent(alone)) for name, (mean, alone) in falls.items()),
    )  # fmt: skip


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}"


@dataclass(frozen=True, kw_only=True)
class Point:
    """One release that was tried."""

    number: int
    label: str
    shown: tuple[str, ...]
    suppressed: str
    classes: str
    note: str
    mark: str
    done: bool
    models: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ExploreView:
    """Utility against protection, and against measured risk."""

    axes: tuple[str, ...]
    points: tuple[Point, ...]
    figures: tuple[Figure, ...]
    recommendation: str
    notes: tuple[str, ...]
    told: tuple[tuple[str, str], ...]


_MARKS = {"best": "recommended", "front": "on the front", "": ""}


def explore_view(found: Mapping[str, Any]) -> ExploreView:
    """What a sweep found."""
    axes = list(map(_axis, found["axes"]))
    points = [_point(one, found) for one in found["points"]]
    figures = [_plane(found, place) for place in range(1, len(found["axes"]))]
    return ExploreView(
        axes=tuple(axes), points=tuple(points), figures=tuple(one for one in figures if one is not None),
        recommendation=found["recommendation"], notes=tuple(found["notes"]),
        told=figures_told([one["name"] for one in found["axes"]]),
    )  # fmt: skip


def _axis(one: Mapping[str, Any]) -> str:
    return f"{one['role']}: {one['name']}, {'lower' if one['better'] == 'down' else 'higher'} is better"


def _kind(number: int, found: Mapping[str, Any]) -> str:
    return "best" if number == found["recommended"] else "front" if number in found["front"] else ""


def _point(one: Mapping[str, Any], found: Mapping[str, Any]) -> Point:
    done = one["status"] == "done"
    note = " ".join(filter(None, [one["reason"], *one["over"]]))
    return Point(
        number=one["number"], label=one["label"], shown=tuple(one["shown"].values()), done=done,
        suppressed=percent(one["suppressed"]) if done else "–", classes=f"{one['classes']:,}" if done else "–",
        note=note if done else f"{one['status']}: {note}", mark=_MARKS[_kind(one["number"], found)],
        models=tuple(model_words(model) for model in one["models"]),
    )  # fmt: skip


def _plane(found: Mapping[str, Any], place: int) -> Figure | None:
    first, second = found["axes"][0], found["axes"][place]
    dots = {
        one["number"]: Dot(
            x=one["values"][first["role"]], y=one["values"][second["role"]], label=str(one["number"] + 1),
            told=f"{one['number'] + 1}: {one['label']}", kind=_kind(one["number"], found),
        )
        for one in found["points"]
        if one["values"].get(first["role"]) is not None and one["values"].get(second["role"]) is not None
    }  # fmt: skip
    if not dots:
        return None
    front = [dots[number] for number in found["fronts"][second["role"]] if number in dots]
    title = f"{first['role'].capitalize()} ({first['name']}) against {second['role']} ({second['name']})"
    told = f"{len(dots)} releases; {len(front)} of them are beaten by no other on both."
    return Figure(
        title=title, svg=plane(title, told, list(dots.values()), front, (_axis(first), _axis(second))),
        headings=("Release", first["name"], second["name"]),
        rows=tuple((one.told, f"{one.x:.4g}", f"{one.y:.4g}") for one in dots.values()),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AttackView:
    """One attack with its figures."""

    name: str
    story: str
    note: str
    figures: tuple[tuple[str, ...], ...]
    told: tuple[str, ...]
    svg: Markup | None
    beats: bool | None  # None where there is no guess to hold it against


@dataclass(frozen=True, kw_only=True)
class AttacksView:
    """All attacks on a release of the recipe."""

    statement: str
    hold_out: str
    attacks: tuple[AttackView, ...]
    silent: tuple[tuple[str, str], ...]
    worst: str
    main: tuple[tuple[str, ...], ...]


def attacks_view(found: Mapping[str, Any]) -> AttacksView:
    """What attackers achieve."""
    made = [one for one in found["attacks"] if one["figures"]]
    silent = [(one["name"], one["note"]) for one in found["attacks"] if not one["figures"]]
    return AttacksView(
        statement=found["statement"], hold_out=percent(found["hold_out"]), worst=_told(made), silent=tuple(silent),
        attacks=tuple(_attack(one) for one in made), main=tuple(_attack_row(_worst(one)) for one in made),
    )  # fmt: skip


def _told(made: Sequence[Mapping[str, Any]]) -> str:
    """How many attacks do better than a naive guess, of those that have one."""
    outcomes = [_outcome(one) for one in made]
    compared, beating, alone = len(outcomes) - outcomes.count(None), outcomes.count(True), outcomes.count(None)
    told = [] if not compared else [
        f"{beating} of {compared} attacks do better than guessing."
        if beating else f"None of {compared} attacks does better than guessing."
    ]  # fmt: skip
    if alone:
        told.append(f"{alone} {'has' if alone == 1 else 'have'} no guess to be held against: look at what they find.")
    return " ".join(told) or "There was nothing to attack."


def _outcome(one: Mapping[str, Any]) -> bool | None:
    """Whether any figure of an attack beats its guess; None where none has a guess."""
    known = [each for each in one["figures"] if each["baseline"] is not None]
    return any(map(_beats, known)) if known else None


def _worst(one: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figure of an attack that is furthest above its baseline, of those that carry its name."""
    mine = [each for each in one["figures"] if each["name"].partition(":")[0] == one["name"]] or one["figures"]
    found: Mapping[str, Any] = max(mine, key=lambda each: each["value"] - (each["baseline"] or 0.0))
    return found


def _attack(one: Mapping[str, Any]) -> AttackView:
    given = [
        Bar(
            label=each["name"], value=each["value"], low=each["low"], high=each["high"],
            marks=tuple((name, each[name]) for name in ("baseline", "control") if each[name] is not None),
            kind="bad" if _beats(each) else "main",
        )
        for each in one["figures"]
    ]  # fmt: skip
    told = [each["told"] for each in one["figures"]]
    return AttackView(
        name=one["name"], story=one["story"], note=one["note"], told=tuple(dict.fromkeys(told)),
        figures=tuple(map(_attack_row, one["figures"])), beats=_outcome(one),
        svg=bars(f"Attack {one['name']}", " ".join(told), given),
    )  # fmt: skip


def _beats(one: Mapping[str, Any]) -> bool:
    """Whether a figure is above a naive guess; one without such a guess says nothing of it."""
    return bool(one["beats"]) and one["baseline"] is not None


def _attack_row(one: Mapping[str, Any]) -> tuple[str, ...]:
    control = "–" if one["control"] is None else percent(one["control"])
    if one["control_interval"]:
        low, high = one["control_interval"]
        control += f" ({percent(low)} to {percent(high)})"
    return (
        one["name"], percent(one["value"]), f"{percent(one['low'])} to {percent(one['high'])}", control,
        "–" if one["baseline"] is None else percent(one["baseline"]),
        "–" if one["baseline"] is None else "yes" if one["beats"] else "no", f"{one['trials']:,}",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell before and after."""

    before: str
    after: str
    kind: str  # same, changed, star or gone


@dataclass(frozen=True, kw_only=True)
class CompareView:
    """Some rows before and after, and distributions of columns."""

    statement: str
    total: int
    suppressed: int
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[int, tuple[Cell, ...]], ...]
    figures: tuple[Figure, ...]
    measures: tuple[tuple[str, str], ...]
    told: tuple[tuple[str, str], ...]


def compare_view(found: Mapping[str, Any]) -> CompareView:
    """Original and release side by side."""
    return CompareView(
        statement=found["statement"], total=found["total"], suppressed=found["suppressed"],
        columns=tuple((one["name"], one["role"]) for one in found["columns"]),
        rows=tuple((one["number"], _cells(one["before"], one["after"])) for one in found["rows"]),
        figures=tuple(_distribution(name, one) for name, one in found["distributions"].items()),
        measures=tuple((name, _number(value)) for name, value in found["measures"].items()),
        told=figures_told(list(found["measures"])),
    )  # fmt: skip


def _cells(before: Sequence[str | None], after: Sequence[str | None]) -> tuple[Cell, ...]:
    """The cells of a row; a row of nothing was suppressed."""
    if all(one is None for one in after):
        return tuple(Cell(before=old or "", after="", kind="gone") for old in before)
    pairs = [(old or "", new or "") for old, new in zip(before, after, strict=True)]
    return tuple(
        Cell(before=old, after=new, kind="star" if new == "*" else "same" if _same(old, new) else "changed")
        for old, new in pairs
    )


def _same(old: str, new: str) -> bool:
    if old == new or {old, new} == {"", "<missing>"}:
        return True
    try:
        return float(old) == float(new)
    except ValueError:
        return False


def _distribution(name: str, one: Mapping[str, Any]) -> Figure:
    series: dict[str, Sequence[float]] = {"original": one["before"], "release": one["after"]}
    told = f"{percent(one['variation'])} of the rows would have to change their value to make the two equal."
    return Figure(
        title=name, svg=columns(f"{name} before and after", told, one["labels"], series),
        headings=(name, "Original", "Release"),
        rows=tuple(
            (label, percent(old), percent(new))
            for label, old, new in zip(one["labels"], one["before"], one["after"], strict=True)
        ),
    )  # fmt: skip
