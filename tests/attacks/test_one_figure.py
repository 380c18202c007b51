"""Limit, attack, risk and an oracle of its own agree on what a release gives away, whoever is suppressed."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli.main import execute
from shoal.data.keys import Keys
from shoal.errors import GateError, InfeasibleError
from shoal.recipe.source import read
from shoal.recoding.reader_labels import readers_manifest
from shoal.results import Release
from shoal.risk.assess import assess
from shoal.risk.attacks.base import AttackResult
from shoal.risk.attacks.limits import class_risks, refuse_over_limits
from shoal.risk.attacks.run import attack, make_case, run_attacks
from shoal.risk.attacks.views import public_view
from tests.conftest import many

LIMITED = ("homogeneity", "proximity", "skewness", "linkage")
QUASI = ["age", "sex"]
Class = list[tuple[str | None, Any]]


def draw_people(seed: int) -> pl.DataFrame:
    """Draw people of few kinds, among them some who are alone and have to be suppressed."""
    draw = np.random.default_rng(seed)
    n, alone = int(draw.integers(12, 40)), int(draw.integers(0, 20))
    values = draw.choice(["flu", "cold", "hiv"], n + alone, p=[0.6, 0.3, 0.1])
    pay = draw.integers(0, int(draw.choice([4, 30, 2000])), n + alone)
    scale = float(draw.choice([1.0, 0.1, 0.5]))
    return pl.DataFrame(
        {
            "age": [*draw.integers(20, 25, n).tolist(), *(100 + np.arange(alone) * 3).tolist()],
            "sex": draw.choice(["f", "m"], n + alone),
            "s": [None if gone else str(one) for gone, one in zip(draw.random(n + alone) < 0.1, values, strict=True)],
            "pay": [round(float(one) * scale, 1) for one in pay],
        }
    )


def release_of(seed: int) -> Release:
    """Release the table of a seed by one of several methods that may suppress people."""
    table = read(
        draw_people(seed),
        quasi=QUASI,
        sensitive=["s", "pay"],
        missing="value",
        hierarchies={"age": {"widths": [5, 20]}},
    )
    methods: Sequence[Any] = (
        shoal.Optimal(suppression_limit=0.7),
        shoal.NoAlgorithm(levels={"age": 0, "sex": 0}, suppression_limit=0.9),
        shoal.Mondrian(suppression_limit=0.5),
        shoal.Optimal(suppression_limit=0.7, node=(1, 0)),
    )
    return shoal.anonymize(
        table,
        algorithm=methods[seed % len(methods)],
        models=[shoal.KAnonymity(k=2 + seed % 2)],
        acknowledge=["W-UNMODELLED:s", "W-UNMODELLED:pay"],
        suppressed="star" if seed % 3 == 0 else "drop",
        seed=seed,
    )


def released_rows(release: Release) -> list[dict[str, Any]]:
    """Read the released rows as texts, without those that are starred in every column."""
    frame = release.frame.select(pl.all().cast(pl.String))
    return [row for row in frame.iter_rows(named=True) if any(cell != "*" for cell in row.values())]


def expected(rows: Sequence[dict[str, Any]]) -> dict[str, Fraction]:
    """Compute every figure by its definition, from the released rows alone."""
    classes: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        classes[tuple(row[name] for name in QUASI)].append(row)
    found = {
        "prosecutor_max": Fraction(1, min(map(len, classes.values()))),
        "prosecutor_mean": Fraction(len(classes), len(rows)),
        "linkage": sum(Fraction(1, sum(_could_be(row, other) for other in rows)) for row in rows) / len(rows),
    }
    for name in ("s", "pay"):
        known = [[row[name] for row in members if row[name] is not None] for members in classes.values()]
        everybody = [value for members in known for value in members]
        total, read_off, skewed = len(everybody), 0, 0
        for members in known:
            read_off += len(members) * (len(set(members)) == 1)
            skewed += members.count(_skewed(members, everybody)) if members else 0
        found[f"homogeneity:{name}"] = Fraction(read_off, max(total, 1))
        found[f"skewness:{name}"] = Fraction(skewed, max(total, 1))
    found["proximity:pay"] = _near([[Fraction(row["pay"]) for row in members] for members in classes.values()])
    return found


def _could_be(row: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two rows have the same cells; cells of one release that overlap are left to another test."""
    return all(row[name] == other[name] for name in QUASI)


def _skewed(members: Sequence[str], everybody: Sequence[str]) -> str | None:
    """Give the value whose share of the class has grown most, where it is at least twice that of the release."""
    whole, own = Counter(everybody), Counter(members)
    gains = {
        value: Fraction(count, len(members)) - Fraction(whole[value], len(everybody))
        for value, count in own.items()
        if Fraction(count, len(members)) >= 2 * Fraction(whole[value], len(everybody))
    }
    return max(sorted(gains), key=lambda value: gains[value]) if gains else None


def _near(classes: Sequence[Sequence[Fraction]]) -> Fraction:
    """Guess of each class the lowest value with the most members within 5 % of the range, and count who is as near."""
    everybody = [value for members in classes for value in members]
    eps = (max(everybody) - min(everybody)) / 20
    right = 0
    for members in classes:
        near = {value: sum(abs(value - other) <= eps for other in members) for value in members}
        right += max(near.values())
    return Fraction(right, len(everybody))


def main_figures(results: Sequence[AttackResult]) -> dict[str, float]:
    """Collect the figures that limits look at."""
    return {one.name: one.value for result in results for one in result.main}


def attacked_by_reader(release: Release, against: pl.DataFrame | None) -> dict[str, float]:
    """Attack the published rows alone, or with a table of everybody who was read."""
    manifest = readers_manifest(dict(release.manifest), [release.table.frame])
    case = make_case(public_view(release.frame, manifest), manifest, Keys.from_seed(1), against=against)
    wanted = [name for name in LIMITED if against is not None or name != "linkage"]
    return main_figures(run_attacks(case, wanted))


def test_every_share_is_one_of_the_released_people() -> None:
    suppressing = 0
    for seed in range(many(24, 600)):
        try:
            release = release_of(seed)
        except InfeasibleError:
            continue
        rows = released_rows(release)
        wanted = expected(rows)
        suppressing += len(rows) < release.table.n
        mine = main_figures(attack(release, only=LIMITED))
        overlapping = any("-pooled:" in one.name for one in attack(release, only=["homogeneity"])[0].figures)
        figures = [(mine, "limit"), (attacked_by_reader(release, None), "reader")]
        if not overlapping:
            figures.append((attacked_by_reader(release, release.table.frame), "reader with a table"))
        for found, who in figures:
            for name, value in found.items():
                if name in wanted and not (name == "linkage" and overlapping):
                    assert value == pytest.approx(float(wanted[name])), (seed, who, name)
        risks = class_risks(release)
        assert {name: risks[name] for name in risks} == {name: pytest.approx(float(wanted[name])) for name in risks}
        _check_risk(release, wanted, seed)
        _check_limits(release, mine | {name: float(wanted[name]) for name in risks}, seed)
    assert suppressing > 5


def _check_risk(release: Release, wanted: dict[str, Fraction], seed: int) -> None:
    """Compare 'shoal risk' on the released rows, and the risk in the evidence."""
    stored = release.evidence["risk"]["after"]
    frame = pl.DataFrame(released_rows(release), schema=dict.fromkeys(release.frame.columns, pl.String))
    figures = assess(read(frame, quasi=QUASI, sensitive=["s", "pay"], missing="value", hierarchies={}), suda=0).figures
    for name in ("s", "pay"):
        for found in (figures, stored):
            assert found[f"homogeneous {name}"].value == pytest.approx(float(wanted[f"homogeneity:{name}"])), seed
    assert figures["prosecutor-mean"].value == pytest.approx(float(wanted["prosecutor_mean"])), seed


def _check_limits(release: Release, found: dict[str, float], seed: int) -> None:
    """A limit at the figure passes, and one below it does not."""
    largest: dict[str, float] = defaultdict(float)
    for name, value in found.items():
        largest[name.split(":")[0]] = max(largest[name.split(":")[0]], value)
    refuse_over_limits(dict(largest), release)
    for name, value in largest.items():
        if value > 0.001:
            with pytest.raises(GateError, match=f"'{name}' is"):
                refuse_over_limits({name: value - 0.001}, release)


RECIPE = """
acknowledge = ["W-UNMODELLED:disease"]
seed = 1
[source]
path = "people.csv"
[roles]
quasi = ["age", "sex"]
sensitive = ["disease"]
[algorithm]
name = "optimal"
suppression_limit = 0.5
node = [0, 0]
[[models]]
name = "k"
k = 5
[output]
folder = "out"
"""


def test_all_commands_and_engines_give_one_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 95 people 45 are suppressed, and 15 of the other 50 have the value that everybody in their class has."""
    rows = [(20, "f", "hiv")] * 15 + [(30, "m", ("flu", "cold", "hiv")[row % 3]) for row in range(35)]
    rows += [(100 + row, "fm"[row % 2], ("flu", "cold")[row % 2]) for row in range(45)]
    pl.DataFrame(rows, schema=["age", "sex", "disease"], orient="row").write_csv(tmp_path / "people.csv")
    recipe, kept = tmp_path / "recipe.toml", tmp_path / "duckdb.toml"
    kept.write_text(f'{RECIPE}[engine]\nname = "duckdb"\n')
    for limit, code in ((0.16, 4), (0.29, 4), (0.3, 0)):
        recipe.write_text(f"{RECIPE}[limits]\nhomogeneity = {limit}\n")
        assert execute(["run", str(recipe)]) == code

    def found(*words: str) -> dict[str, Any]:
        capsys.readouterr()
        assert execute([*words, "--json"]) == 0
        return dict(json.loads(capsys.readouterr().out))

    out, only = str(tmp_path / "out"), ("--only", "homogeneity")
    for words in (
        ("attack", out, *only),
        ("attack", out, "--against", str(tmp_path / "people.csv"), *only),
        ("attack", str(recipe), "--hold-out", "0", *only),
        ("attack", str(kept), *only),
    ):
        assert found(*words)["attacks"][0]["figures"][0]["value"] == pytest.approx(0.3), words
    assert found("risk", out)["figures"]["homogeneous disease"]["value"] == pytest.approx(0.3)
