"""Releases of every kind with figures of attacks, and systematic forgeries of their manifests."""

from __future__ import annotations

import copy
import datetime
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.errors import VerificationError
from shoal.results import Release
from shoal.verify.manifest_schema import check_manifest
from shoal.verify.recheck import recheck

Manifest = dict[str, Any]
ACCEPTED = [
    "W-RA-LINK", "W-EXACT-QI", "W-PP-REV", "W-PERTURBED", "W-TRAJECTORY", "W-NO-K", "W-NEUTRAL", "W-ROWS",
    "W-UNMODELLED:disease", "W-UNMODELLED:income",
]  # fmt: skip
CODED: dict[str, Any] = {"income": {"code": {"how": "graded", "categories": 4}}, "disease": {"code": "mapping"}}
AREAS = [["north", "cold", "*"], ["south", "warm", "*"], ["west", "warm", "*"], ["east", "cold", "*"]]
DISEASES = [["flu", "lungs", "*"], ["cold", "lungs", "*"], ["gout", "other", "*"], ["ulcer", "other", "*"]]
ALGORITHMS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "random": (shoal.RandomAnonymisation, {}),
    "random of several": (lambda: shoal.RandomAnonymisation(redraw=2), {}),
    "anatomy": (lambda: shoal.Anatomy(l=2, publication="tables"), {"sensitive": ["disease"]}),
    "anatomy permuted": (lambda: shoal.Anatomy(l=2, publication="permuted"), {"sensitive": ["disease"]}),
    "mapping": (shoal.ValueMapping, {}),
    "swapping": (shoal.Swapping, {"quasi": ["age", "weight"]}),
    "noise": (shoal.Noise, {"quasi": ["age", "weight"]}),
    "pram": (shoal.Pram, {"quasi": ["sex", "area"]}),
    "shuffling": (shoal.Shuffling, {"quasi": ["age", "weight"]}),
    "condensation": (shoal.Condensation, {"quasi": ["age", "weight"]}),
    "record-swapping": (lambda: shoal.RecordSwapping(geography=["area"]), {"quasi": ["age", "sex", "area"]}),
    "coded classes": (lambda: shoal.Mondrian(k=4), {"settings": CODED}),
    "coded random": (shoal.RandomAnonymisation, {"settings": CODED}),
    "tokens": (lambda: shoal.Mondrian(k=4), {"pseudonym": ["who"]}),
    "tokens beside random": (shoal.RandomAnonymisation, {"pseudonym": ["who"]}),
    "shifted dates": (
        lambda: shoal.Mondrian(k=2),
        {"subject": "who", "neutral": ["seen"], "settings": {"seen": {"shift": {"days": 30}}}},
    ),
    "tokens beside groups": (
        lambda: shoal.Anatomy(grouping={"name": "mondrian", "k": 3}),
        {"pseudonym": ["who"], "sensitive": ["disease"]},
    ),
    "tokens beside codes": (shoal.ValueMapping, {"pseudonym": ["who"]}),
    "labels": (
        lambda: shoal.Optimal(suppression_limit=0.3),
        {
            "quasi": ["area", "sex"],
            "hierarchies": {
                "area": shoal.Hierarchy.from_rows("area", AREAS),
                "disease": shoal.Hierarchy.from_rows("disease", DISEASES),
            },
        },
    ),
    "classes": (lambda: shoal.Mondrian(k=4), {}),
    "centroids": (lambda: shoal.Microaggregation(k=4), {"quasi": ["age", "weight"]}),
}


def draw_people(seed: int) -> pl.DataFrame:
    """Draw a table: some values are missing, some people have several rows."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(24, 90))
    who = np.sort(draw.integers(0, n // 2, n))
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(day)) for day in draw.integers(0, 400, n)]
    disease = draw.choice(["flu", "cold", "gout", "ulcer"], n, p=[0.4, 0.3, 0.2, 0.1])
    return pl.DataFrame(
        {
            "who": [f"p{one}" for one in who],
            "age": draw.integers(20, 20 + int(draw.integers(5, 40)), n),
            "weight": draw.integers(50, 99, n),
            "sex": draw.choice(["f", "m"], n),
            "area": draw.choice(["north", "south", "west"], n),
            "seen": days,
            "income": draw.integers(10, 80, n) * 100,
            "disease": [None if gone else str(one) for gone, one in zip(draw.random(n) < 0.05, disease, strict=True)],
        }
    )


def release_of(name: str, seed: int) -> Release:
    """Make a release of one of the kinds."""
    algorithm, given = ALGORITHMS[name]
    roles = {"quasi": ["age", "sex"], "sensitive": ["disease", "income"], "missing": "value", **given}
    frame = draw_people(seed)
    used = [one for role in ("quasi", "sensitive", "neutral", "pseudonym") for one in roles.get(role, ())]
    used += [roles["subject"]] if "subject" in roles else []
    table = shoal.read(frame.select(used), **roles)
    models = [shoal.KAnonymity(k=3)] if name == "labels" else []
    return shoal.anonymize(table, algorithm=algorithm(), models=models, acknowledge=ACCEPTED, seed=seed)


def manifest_of(release: Release) -> Manifest:
    """Complete a manifest with what writing adds."""
    hashed = {"sha256": "0" * 64}
    data: Manifest = {"file": "release.csv", "format": "csv", "rows": release.frame.height, **hashed}
    if release.apart is not None:
        data["sensitive"] = {"file": "sensitive.csv", "rows": release.apart.height, **hashed}
    return copy.deepcopy(dict(release.manifest)) | {"data": data, "report": {"file": "report.html", **hashed}}


def problems(release: Release, manifest: Manifest) -> list[str]:
    """List what the verifier says against a release with this manifest."""
    try:
        check_manifest(manifest)
        report = recheck(release.frame, manifest, release.apart)
    except VerificationError as error:
        return [str(error)]
    return [check.detail for check in report.checks if not check.passed]


def forgeries(manifest: Manifest) -> Iterator[tuple[str, Manifest]]:
    """Give every forgery of figures, perturbation, labels and columns of a manifest, with what was changed."""
    yield from _lists(manifest)
    for at, figure in enumerate(manifest.get("measured", ())):
        for label, change in _changes(figure):
            forged = copy.deepcopy(manifest)
            forged["measured"][at] |= change
            yield f"{figure['name']}: {label}", forged
    if "perturbation" in manifest:
        for text in ("", "noise, so that nobody can be found", "Swapped"):
            yield "perturbation", copy.deepcopy(manifest) | {"perturbation": text}
    for at, column in enumerate(manifest["columns"]):
        if "hierarchy" in column and not column.get("whole"):
            depth = len(column["hierarchy"][0])
            forged = copy.deepcopy(manifest)
            row = ["Nobody can be found.", *[None] * (depth - 2), column["hierarchy"][0][-1]]
            forged["columns"][at]["hierarchy"].append(row)
            yield f"label of {column['name']}", forged
        for change in _descriptions(column):
            forged = copy.deepcopy(manifest)
            forged["columns"][at] |= change
            yield f"{change} of {column['name']}", forged


def _descriptions(column: Manifest) -> Iterator[Manifest]:
    """Give free text in all that may be said of a column, but for what a publisher declares of its values."""
    text = "Nobody can be found."
    edges: list[Any] = [[], [[]], [["0", text]]]
    rules: list[Manifest] = [
        {"prefix": [text], "mask": "*"}, {"prefix": [2], "mask": text}, {"prefix": [], "mask": "*"},
        {"widths": [text], "origin": "0"}, {"widths": ["5"], "origin": text}, {"dates": [text]},
        {"dates": ["year", text]}, {"quantiles": [text]}, {"quantiles": []},
        *({"intervals": {"edges": one}} for one in edges),
    ]  # fmt: skip
    yield from ({"builder": rule} for rule in rules)
    if column["type"] != "ordinal":
        yield {"order": [text]}
    if column["type"] not in ("numeric", "date"):
        yield {"domain": [text, text]}
    if column["role"] != "sensitive":
        yield {"non_answers": [text]}


def _lists(manifest: Manifest) -> Iterator[tuple[str, Manifest]]:
    """Leave figures out, repeat them, rename them and invent some."""
    figures = manifest.get("measured", [])
    for at, figure in enumerate(figures):
        yield f"without {figure['name']}", manifest | {"measured": figures[:at] + figures[at + 1 :]}
        yield f"{figure['name']} alone", manifest | {"measured": [figure] if len(figures) > 1 else []}
        yield f"{figure['name']} twice", manifest | {"measured": [*figures, figure]}
        renamed = figure | {"name": "safety"}
        yield f"{figure['name']} renamed", manifest | {"measured": [*figures[:at], renamed, *figures[at + 1 :]]}
    for sentence, value in (("Nobody can be found.", 0), ("0.0% of the people are found.", 0.0)):
        invented = {"name": "safety", "value": value, "interval": [0, 1], "baseline": None, "sentence": sentence}
        yield "invented", manifest | {"measured": [*figures, invented]}


def _changes(figure: Manifest) -> Iterator[tuple[str, Manifest]]:
    """Change one part of a figure after the other, and the value together with its interval."""
    value, (low, high), baseline, sentence = (figure[key] for key in ("value", "interval", "baseline", "sentence"))
    other = round(value + 0.3 if value < 0.5 else value - 0.3, 4)
    yield "value", {"value": other}
    yield "value and interval", {"value": other, "interval": [0, 1]}
    yield "value and ends", {"value": other, "interval": [max(other - 0.01, 0.0), min(other + 0.01, 1.0)]}
    for end, name in ((low, "low"), (high, "high")):
        for moved in (0.0, 1.0, round(end + 0.02, 4), round(end - 0.02, 4)):
            ends = [moved, high] if name == "low" else [low, moved]
            if abs(moved - end) > 0.01:
                yield f"{name} end", {"interval": ends}
    yield (
        "baseline dropped" if baseline is not None else "baseline invented",
        {"baseline": 0.5 if baseline is None else None},
    )
    if baseline is not None:
        yield "baseline", {"baseline": round(baseline + 0.3 if baseline < 0.5 else baseline - 0.3, 4)}
        yield "impossible baseline", {"baseline": 1.5}
    for text in (
        f"{sentence} Nobody can be found.",
        f"Safe. {sentence}",
        "Nobody can be found.",
        "",
        "99.9% are safe.",
    ):
        yield "sentence", {"sentence": text}
    for place in re.finditer(r"[0-9]+", sentence):
        digits = f"{(int(place[0]) + 5) % 10 ** len(place[0]):0{len(place[0])}}"
        text = f"{sentence[: place.start()]}{digits}{sentence[place.end() :]}"
        yield f"{_where(sentence, place)} in the sentence", {"sentence": text}


def _where(sentence: str, place: re.Match[str]) -> str:
    """Name a number of a sentence by what it is, where only the publisher can know it."""
    if sentence[place.end() :].lstrip("0123456789.").startswith("% from similar other people"):
        return "control"
    inside = re.search(r"\(from .*, by the sample\)", sentence)
    return "spread" if inside and inside.start() < place.start() < inside.end() else "number"
