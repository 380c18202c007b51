"""Yang & Qiao: what their table is like, and what exact Bayes makes of their release (an experiment of ours)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.links.random import RandomAnonymisation
from shoal.data.table import Table
from shoal.recipe.source import read
from shoal.recoding.randomised import Randomised, describe_randomised
from shoal.recoding.recodings import Redrawn
from shoal.results import Release
from shoal.risk.attacks.randomised import recover
from shoal.risk.attacks.run import attack
from shoal.utility.association import association, pairs
from shoal.utility.posterior import Posterior, candidates, posterior
from shoal.utility.randomised import probabilistic_anonymity
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import below, checked, equals, falls_with, info, within
from shoal_papers.plots import Plot, Series
from shoal_papers.runs import curves, points, release, sample, summarise
from shoal_papers.yang_qiao.common import DIVERSE, NEIGHBOURS, PERMUTED, QUASI, SENSITIVE, made_by, table_of, told
from shoal_papers.yang_qiao.examples import channel

_BINS = 10
BEST = "RA, optimal p"
# Least share of confident guesses for which the share of right ones says something.
_ENOUGH = 0.001


def squared(frame: pl.DataFrame) -> dict[str, tuple[float, float]]:
    """chi^2 / n of every quasi-identifier against occupation, single years of age as categories; and Cramer's V."""
    table = read(
        frame.select([*QUASI, SENSITIVE]), quasi=list(QUASI), sensitive=[SENSITIVE],
        settings={"age": {"type": "categorical"}},
    )  # fmt: skip
    columns = [table.columns[name] for name in (*QUASI, SENSITIVE)]
    strength = association(columns, {names: table.joined(names) for names in pairs(columns)})[-1]
    sizes = [np.count_nonzero(column.frequencies) for column in columns]
    return {
        name: (float(v**2 * (min(size, sizes[-1]) - 1)), float(v))
        for name, v, size in zip(QUASI, strength, sizes, strict=False)
    }


def _data(context: Context) -> Outcome:
    given = context.parameters
    frame = context.data.adult()
    found = squared(frame)
    small = [name for name, (value, _) in found.items() if value < given["limit"]]
    large = {name: round(value, 4) for name, (value, _) in found.items() if name not in small}
    table = table_of(frame)
    pa = {p: probabilistic_anonymity(channel(table, p=p)) for p in ("uniform", "optimal")}
    shares = frame[SENSITIVE].value_counts()["count"].to_numpy() / frame.height
    spread = float(np.exp(-(shares * np.log(shares)).sum()))
    claims = [
        equals("RA-34: Adult has 30,162 complete records", frame.height, 30162),
        within("RA-35: Pa with uniform p is 34, rounded", [pa["uniform"]], low=33.5, high=34.5, kind="hard"),
        equals("RA-36: Pa with the p of Proposition 7", pa["optimal"], 75.2796, tolerance=1e-3),
        info("Pa with the p of Proposition 7, which the document derives", round(pa["optimal"], 2), 34),
        equals("RA-37: exp of the entropy of occupation", spread, 10.5312, tolerance=1e-3),
        info("exp of the entropy of occupation, 'about ln 10' in the document", round(spread, 2), 10),
        equals("RA-38: share of the commonest occupation", float(shares.max()), 673 / 5027, tolerance=1e-12),
        checked(
            f"chi^2/n is below {given['limit']:g} for most quasi-identifiers", 2 * len(small) > len(found),
            f"{len(small)} of {len(found)}; above are {', '.join(f'{key} ({one:.3g})' for key, one in large.items())}.",
            kind="soft", above=large,
        ),
    ]  # fmt: skip
    rows = [{"quasi": name, "chi2_n": value, "cramer_v": v} for name, (value, v) in found.items()]
    table_shown = pl.DataFrame(rows).sort("chi2_n", descending=True)
    series = Series(name="chi²/n", x=table_shown["quasi"].to_list(), y=table_shown["chi2_n"].to_list())
    return Outcome(
        table=table_shown,
        claims=claims,
        plots=[Plot(title="association with occupation", figure="Section 7.3", kind="bar", x="quasi-identifier",
                    y="chi²/n", series=[series], study=series.name,
                    lines={f"limit {given['limit']:g}": given["limit"]})],
        notes=[
            "Single years of age are categories here, as the document's Pa of 34 needs them to be.",
            "chi^2/n can be as large as the smaller number of values less 1, so that 0.2 means much for sex and little "
            "for age: Cramer's V, in the table, can be compared.",
            "The largest l of entropy l-diversity is the exp of the entropy: l = 10 leaves next to no room to cut.",
        ],
    )  # fmt: skip


def _channel(made: Release) -> Randomised:
    recoding = made.released.recoding
    assert isinstance(recoding, Redrawn)
    return describe_randomised(made.table, recoding)


def _sums(described: Randomised, made: Release, count: int) -> float:
    """How far from 1 the posterior of any of some released records sums up to."""
    rows = made.frame.select(list(QUASI)).head(count).to_dicts()
    return max(abs(float(candidates(described, row)["probability"].sum()) - 1.0) for row in rows)


def _figures(made: Release, seed: int, names: Sequence[str]) -> dict[str, Any]:
    return {one.name.split(":")[0]: one for result in attack(made, only=names, seed=seed) for one in result.figures}


def randomised_row(
    table: Table, algorithm: RandomAnonymisation, seed: int, vectors: int
) -> tuple[dict[str, Any], Posterior]:
    """Exact Bayes against one release."""
    made = release(table, algorithm, seed=seed)
    described = _channel(made)
    known = posterior(described)
    found = _figures(made, seed, ["posterior", "ra-linkage"])
    linked = found["ra-linkage"]
    return {
        "unchanged": float((described.before == described.after).all(axis=0).mean()),
        "recovered": found["posterior"].value, "posterior": found["posterior-mean"].value,
        "guessed": linked.value, "raw": found["ra-linkage-raw"].value, "similar": linked.control,
        "majority": linked.baseline, "sure": found["ra-linkage-confident"].value,
        "sure_right": found["ra-linkage-confident-right"].value, "sum_error": _sums(described, made, vectors),
        "one_over_pa": 1 / float(made.measure("pa").value or 1.0),
    }, known  # fmt: skip


def grouped_row(method: str, l: float, table: Table, seed: int) -> dict[str, Any]:  # noqa: E741
    """Share of people whose occupation is guessed right in a release of groups."""
    made = made_by(method, {True: table}, l, seed)
    if method == DIVERSE:
        counted = made.frame.group_by([*QUASI, SENSITIVE]).len("of").group_by(list(QUASI)).agg(pl.max("of"))
        return {"guessed": counted["of"].sum() / table.n}
    return {"guessed": _figures(made, seed, ["relinking"])["relinking"].value}


def _attack(context: Context) -> Outcome:
    given = context.parameters
    channels = {f"RA, lambda = {one}": RandomAnonymisation(redraw=one) for one in given["lambda"]}
    channels[BEST] = RandomAnonymisation(p="optimal")
    grouped = {f"{name} {given['l']}": (name, given["l"]) for name in (DIVERSE, PERMUTED, NEIGHBOURS)}
    rows, sure = [], {name: _Bins() for name in channels}
    spots = [(seed, name) for seed in context.seeds for name in (*channels, *grouped)]
    for seed, name in context.each(spots, lambda spot: f"seed {spot[0]}, {spot[1]}"):
        table = table_of(sample(context.data.adult(), given["rows"], seed))
        if name in channels:
            row, known = randomised_row(table, channels[name], seed, given["vectors"])
            sure[name].add(known)
        else:
            row = grouped_row(*grouped[name], table, seed)
        rows.append({"release": name, "seed": seed, **row})
    runs = pl.DataFrame(rows, infer_schema_length=None)
    needed = ("posterior", "guessed", "similar", "sure", "sure_right", "one_over_pa", "sum_error")
    at = {key: points(runs, "release", key) for key in needed}
    shown = ["unchanged", "recovered", "posterior", "guessed", "raw", "similar", "majority", "sure", "sure_right",
             "one_over_pa"]  # fmt: skip
    first = next(iter(channels))
    return Outcome(
        table=summarise(runs, ["release"], shown),
        runs=runs,
        plots=[_shares(runs, [*channels]), _against_groups(runs), _calibration(sure)],
        claims=_attack_claims(at, first, [*channels], [*grouped]),
        notes=[
            "The attacker knows everybody's quasi-identifiers, and how the release was made: the document's own case "
            "of a table that holds everybody of a public register. Guesses are scored on the true table.",
            "'similar others' is what people say who differ in as many quasi-identifiers as are redrawn, the person's "
            "own record left out: only what goes beyond it is due to a person's own record.",
            "Of a generalised release the commonest occupation of a class is guessed; of permuted ones what naive "
            "Bayes learns from the release itself.",
            f"Whether confident guesses are right is judged where at least {_ENOUGH:.1%} of the people are guessed so.",
        ],
        readings=_attack_readings(at, first),
    )  # fmt: skip


def _attack_claims(
    at: Mapping[str, Mapping[str, np.ndarray]], first: str, channels: Sequence[str], grouped: Sequence[str]
) -> list[Claim]:
    worst = max(float(at["sum_error"][name].max()) for name in channels)
    lambdas = {name: at["posterior"][name] for name in channels if name != BEST}
    found = [
        checked("The posteriors of a released record sum to 1", worst < 1e-9, f"The largest gap is {worst:.2g}."),
        within("Of the guesses with a confidence above 0.9, at least 0.9 are right",
               {name: at["sure_right"][name] for name in channels if at["sure"][name].min() > _ENOUGH},
               low=0.9, high=1.0, kind="hard"),
        below("The true quasi-identifiers of a record have a mean posterior of at most 1/Pa", at["posterior"][first],
              at["one_over_pa"][first], strict=False),
        below("The occupation of a known person is guessed with a probability of at most 1/Pa", at["guessed"][first],
              at["one_over_pa"][first], strict=False),
        info("1/Pa, the document's mean probability of an association", float(at["one_over_pa"][first].mean()), 1 / 34),
        *(below(f"Fewer occupations are guessed from RA than from {name}", at["guessed"][first], at["guessed"][name])
          for name in grouped),
    ]  # fmt: skip
    if len(lambdas) > 1:
        found.append(falls_with("The mean posterior falls as more columns are redrawn", lambdas))
    return found


def _attack_readings(at: Mapping[str, Mapping[str, np.ndarray]], first: str) -> list[str]:
    best = BEST
    found = [
        below("The mean posterior is at most 1/Pa", at["posterior"][best], at["one_over_pa"][best], strict=False),
        below("Occupations are guessed with at most 1/Pa", at["guessed"][best], at["one_over_pa"][best], strict=False),
    ]
    gain = at["guessed"][first] - at["similar"][first]
    beyond = below("Guesses beyond what similar other people say are at most 1/Pa", gain, at["one_over_pa"][first],
                   strict=False)  # fmt: skip
    told_ones = [told(one, "The p of Proposition 7") for one in found]
    return [*told_ones, told(beyond, "Only what a person's own record adds")]


class _Bins:
    """Records by the posterior of their likeliest original: how many, and how many of them are right."""

    def __init__(self) -> None:
        self.count, self.said, self.right = np.zeros(_BINS), np.zeros(_BINS), np.zeros(_BINS)

    def add(self, known: Posterior) -> None:
        """Count the records of a run."""
        described = known.vectors.described
        top = known.top[described.released_of]
        place = np.minimum((top * _BINS).astype(int), _BINS - 1)
        self.count += np.bincount(place, minlength=_BINS)
        self.said += np.bincount(place, top, _BINS)
        self.right += np.bincount(place, recover(described, known).recovered, _BINS)

    def series(self, name: str) -> Series:
        """Share right against the posterior, where there are enough records."""
        kept = self.count >= 50
        said, right = self.said[kept] / self.count[kept], self.right[kept] / self.count[kept]
        return Series(name=name, x=said.tolist(), y=right.tolist())


def _calibration(sure: Mapping[str, _Bins]) -> Plot:
    series = [
        Series(name="perfectly calibrated", x=[0, 1], y=[0, 1]),
        *(bins.series(name) for name, bins in sure.items()),
    ]
    return Plot(title="how right the attacker is, and how sure", x="posterior of the likeliest original",
                y="share right", series=series, study=series[1].name)  # fmt: skip


def _shares(runs: pl.DataFrame, channels: Sequence[str]) -> Plot:
    named = {"unchanged": "unchanged", "recovered": "recovered", "posterior": "mean posterior", "one_over_pa": "1/Pa"}
    mine = runs.filter(pl.col("release").is_in(list(channels)))
    long = mine.unpivot(list(named), index=["release", "seed"], variable_name="figure", value_name="share")
    return Plot(title="quasi-identifiers of a released record", x="release", y="share of records", better="down",
                study="recovered", series=curves(long, "release", "share", by="figure", names=named))  # fmt: skip


def _against_groups(runs: pl.DataFrame) -> Plot:
    first = runs.row(0, named=True)
    raw = pl.DataFrame({"release": "raw table", "guessed": runs["raw"].drop_nulls()})
    found = summarise(pl.concat([raw, runs.select("release", "guessed")]), ["release"], ["guessed"])
    series = Series(name="guessed right", x=found["release"].to_list(), y=found["guessed_mean"].to_list(),
                    low=found["guessed_low"].to_list(), high=found["guessed_high"].to_list())  # fmt: skip
    return Plot(title="occupation of a known person", kind="bar", x="release", y="guessed right", better="down",
                series=[series], study=series.name,
                lines={"similar other people": first["similar"], "majority": first["majority"]})  # fmt: skip


ATTACK = [
    Item(
        id="chi2",
        key="EXP-YQ-chi2",
        title="The table of section 7, and its associations with occupation",
        shows="chi^2/n of every quasi-identifier against occupation; records, Pa and entropy of Adult.",
        statement=(
            "Adult has 30,162 complete records, Pa reaches 34, the entropy of occupation is about ln 10, its commonest "
            "value has about 13 %, and most values of chi^2/n are below 0.2."
        ),
        run=_data,
        needs=["adult"],
        parameters={"limit": 0.2},
        fixed=True,
    ),
    Item(
        id="attack",
        key="EXP-YQ-attack",
        title="Exact Bayes against random anonymisation (ours)",
        shows="Quasi-identifiers recovered and occupations guessed by somebody who knows all quasi-identifiers.",
        statement=(
            "Pa of 34 means that a person is associated with the right occupation with a mean probability of 1/34, "
            "less than the 1/l of l-diverse and permuted data; redrawing more columns protects more."
        ),
        run=_attack,
        needs=["adult"],
        parameters={"rows": 30162, "lambda": [1, 2, 3], "l": 10, "vectors": 50},
        quick={"rows": 10000, "lambda": [1, 2]},
        refuted={
            **dict.fromkeys(
                ("The true quasi-identifiers of a record", "The occupation of a known person"),
                "Pa counts how many values the noise may take, not how likely each is: eight of nine columns stay as "
                "they are, and exact Bayes with the published p finds the original of most records",
            ),
            "Fewer occupations are guessed": (
                "a record keeps eight of nine quasi-identifiers beside its true occupation, so that a known person's "
                "is read off, while groups leave l of them"
            ),
        },
    ),
]  # fmt: skip
