"""Random recipes with a table of their own, each made from one number, as files that any tool could have written.

Nothing here uses Shoal: what a case knows about its columns (kinds, trees, orders) is what the oracle judges by.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = dict[str, str | None]

# Of whose cases releases are recorded: another one among them would move all that follow.
RECORDED: list[dict[str, Any]] = [
    {"name": "mondrian", "cut": "widest"},
    {"name": "mondrian", "mode": "relaxed", "cut": "best"},
    {"name": "mondrian", "cut": "best", "polish": "lm", "polish_rounds": 2},
    {"name": "k-members"},
    {"name": "k-members-p"},
    {"name": "bottom-up"},
    {"name": "top-down"},
    {"name": "alpha-k", "alpha": 0.7, "k": 2},
    {"name": "toc"},
    {"name": "upc", "utility": 0.6, "protection": 0.8},
    {"name": "none"},
    {"name": "auto", "sample": 10, "candidates": [{"name": "mondrian", "cut": "widest"}, {"name": "top-down"}]},
    {"name": "samarati"},
    {"name": "incognito"},
    {"name": "optimal"},
    {"name": "optimal", "measure": "arx-loss", "repeat": True},
    {"name": "rv-global"},
    {"name": "rv-local"},
    {"name": "rv-hybrid"},
    {"name": "rv-distributed"},
    {"name": "top-down-subtree"},
    {"name": "personalised", "p": 0.6, "guard_level": 1},
    {"name": "random"},
    {"name": "graded"},
    {"name": "mapping"},
    {"name": "table-transform"},
    {"name": "anatomy", "l": 2},
    {"name": "anatomy", "l": 2, "publication": "permuted"},
    {"name": "microaggregation"},
    {"name": "m-invariant", "m": 2},
]
# Recorded by their places, so that others can follow.
NEWER: list[dict[str, Any]] = [
    {"name": "mondrian", "cut": "info-gain"},
    {"name": "r-tree"},
    {"name": "k-optimize", "nodes": 5},
    {"name": "set-partition"},
    {"name": "set-partition", "order": "ordered"},
    {"name": "genetic", "population": 6, "evaluations": 20},
    {"name": "swapping", "window": 0.2},
    {"name": "condensation", "size": 3},
    {"name": "rv-cluster"},
    {"name": "local-suppression"},
    {"name": "pram", "stay": 0.6},
    {"name": "noise", "size": 0.4},
    {"name": "shuffling"},
    {"name": "record-swapping", "geography": ["q0"]},
]
ALGORITHMS = [*RECORDED, *NEWER]
REGISTRY, SOURCE = "soak.registry", "soak"
# These search the levels of hierarchies.
TREES = ("samarati", "incognito", "optimal", "rv-global", "rv-local", "rv-hybrid", "rv-distributed",
         "top-down-subtree", "personalised")  # fmt: skip
# These say what they cannot promise beside a limit on loss, or bring one of their own.
_NO_UTILITY = ("samarati", "incognito", "upc", "anatomy", "microaggregation", "random", "graded", "mapping",
               "table-transform")  # fmt: skip
_PERTURBED = ("swapping", "condensation", "pram", "noise", "shuffling", "record-swapping")
CODES = ["W-NEUTRAL", "W-NO-K", "W-RA-LINK", "W-PP-REV", "W-EXACT-QI", "W-TIGHT", "W-TRAJECTORY"]
_TEXTS = ["blue", "a|b", "{x}", "back\\slash", "*star", "[open", "<less", "é漢", "with,comma", 'quo"te', "two words"]


@dataclass
class Column:
    """What a case knows about one column.

    Attributes
    ----------
    kind
        ``int``, ``real``, ``date``, ``ordinal``, ``flat``, or a tree: ``tree``, ``prefix``, ``widths``, ``dates``.
    paths
        Of a tree from a file: the labels above each value, lowest first, without the root.
    even
        Whether its values are equally likely; otherwise sensitive values are skewed.
    """

    name: str
    kind: str
    order: list[str] = field(default_factory=list)
    paths: dict[str, list[str]] = field(default_factory=dict)
    non_answers: list[str] = field(default_factory=list)
    even: bool = False


@dataclass
class Case:
    """One table, its recipe, and all that is known about them."""

    seed: int
    rows: list[Row]
    columns: dict[str, Column]
    quasi: list[str]
    sensitive: list[str]
    models: list[dict[str, Any]]
    algorithm: dict[str, Any]
    missing: str
    people: bool
    linked: bool
    suppressed: str
    format: str

    @property
    def again(self) -> bool:
        """Whether the method is about several releases, so that it needs a registry and rows that are known again."""
        return bool(self.algorithm["name"] == "m-invariant")

    @property
    def kept(self) -> list[Row]:
        """The rows that are left after those with missing cells are dropped, if they are."""
        looked_at = [name for name in self.rows[0] if name != "name"]
        return [row for row in self.rows if self.missing != "drop" or all(row[name] is not None for name in looked_at)]

    def write(self, folder: Path) -> Path:
        """Write source, hierarchies and recipe; returns the recipe's path."""
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "source.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.rows[0])
            writer.writerows([["" if cell is None else cell for cell in row.values()] for row in self.rows])
        for column in self.columns.values():
            if column.paths:
                with open(folder / f"{column.name}.tree", "w", encoding="utf-8", newline="") as file:
                    writer = csv.writer(file, delimiter=";")
                    writer.writerows([value, *above, "*"] for value, above in column.paths.items())
        (folder / "recipe.toml").write_text(self._recipe(), encoding="utf-8")
        return folder / "recipe.toml"

    def _recipe(self) -> str:
        perturbed = ["W-PERTURBED"] if self.algorithm["name"] in _PERTURBED else []
        quoted = [*CODES, *perturbed, *(f"W-UNMODELLED:{name}" for name in self.sensitive)]
        roles: dict[str, Any] = {"identifiers": ["name"], "quasi": self.quasi, "sensitive": self.sensitive}
        if self.linked:
            roles["neutral"] = ["ref"]
        if self.people:
            roles["subject"] = "who"
        if self.again:
            roles["key"] = "id"
        if self.linked:  # the reference is published so that the oracle finds the row behind each released one
            quoted = [*quoted, "W-IDENTIFIES:ref"]
        lines = [f"acknowledge = {_toml(quoted)}", f"seed = {self.seed}"]
        lines += ["[registry]", f"file = {_toml(REGISTRY)}"] if self.again else []
        lines += ["[source]", f"name = {_toml(SOURCE)}", 'path = "source.csv"', f"missing = {_toml(self.missing)}"]
        lines += ["[roles]", *(f"{key} = {_toml(value)}" for key, value in roles.items())]
        for column in self.columns.values():
            lines += self._column(column)
        trees = {name: _hierarchy(self.columns[name]) for name in self.columns}
        lines += ["[hierarchies]", *(f"{name} = {tree}" for name, tree in trees.items() if tree)]
        for model in self.models:
            lines += ["[[models]]", *(f"{key} = {_toml(value)}" for key, value in model.items())]
        lines += ["[algorithm]", *(f"{key} = {_toml(value)}" for key, value in self.algorithm.items())]
        lines += ["[output]", 'folder = "out"', "discard_secret = true", f"format = {_toml(self.format)}"]
        return "\n".join([*lines, f"suppressed = {_toml(self.suppressed)}", ""])

    @staticmethod
    def _column(column: Column) -> list[str]:
        kinds = {"ordinal": "ordinal", "flat": "categorical", "tree": "categorical", "prefix": "categorical",
                 "date": "date", "dates": "date"}  # fmt: skip
        found = [f"[columns.{column.name}]", f"type = {_toml(kinds.get(column.kind, 'numeric'))}"]
        if column.kind == "ordinal":
            found.append(f"order = {_toml(column.order)}")
        if column.non_answers:
            found.append(f"non_answers = {_toml(column.non_answers)}")
        return found


def _hierarchy(column: Column) -> str | None:
    builders = {"prefix": "prefix = [3, 1]", "widths": "widths = [5, 20]", "dates": 'dates = ["month", "year"]'}
    found = {kind: f"{{ {builder} }}" for kind, builder in builders.items()}
    return f'"{column.name}.tree"' if column.paths else found.get(column.kind)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def make(seed: int, *, newer: bool = True, spec: dict[str, Any] | None = None) -> Case:
    """The case of one number; cases in a row go through all algorithms, unless it is for one of them.

    ``newer`` draws algorithms and models that were added after releases of these cases were recorded, too.
    """
    rng = random.Random(seed)
    drawn = ALGORITHMS if newer else RECORDED
    algorithm = dict(spec or drawn[seed % len(drawn)])
    name = algorithm["name"]
    count = rng.choice([rng.randint(3, 12), rng.randint(8, 40), rng.randint(20, 90)])
    kinds = ["tree", "prefix", "widths", "dates"] if name in TREES else ["flat", "ordinal"] if name == "none" else None
    columns = {f"q{i}": _quasi(f"q{i}", rng, kinds) for i in range(rng.randint(1, 2 if name == "none" else 4))}
    quasi = list(columns)
    columns |= {one.name: one for one in _sensitive(rng, name)}
    sensitive = [one for one in columns if one not in quasi]
    people = rng.random() < 0.3 and name not in ("anatomy", "microaggregation", "m-invariant", "random", *_PERTURBED)
    linked = people or (rng.random() < 0.8 and name != "m-invariant")
    # Refused or mostly refused beside missing values.
    whole = name in ("microaggregation", "samarati", "incognito", "condensation")
    missing = rng.choice(["error", "drop"] if whole else ["error", "drop", "value"])
    rows = [_row(i, columns, quasi, rng, missing != "error") for i in range(count)]
    references = rng.sample(range(10_000, 99_999), count)
    for row, reference in zip(rows, references, strict=True):
        if people:
            row["who"] = f"person-{rng.randrange(max(2, count // 2)):03}"
        if linked:
            row["ref"] = str(reference)
        if name == "m-invariant":
            row["id"] = str(reference)
    # Noise suppresses nobody, and without a method only suppression makes classes hold.
    limit = {"random": 0.0, "none": 1.0, "m-invariant": 1.0} | dict.fromkeys(_PERTURBED, 0.0)
    algorithm["suppression_limit"] = rng.choice([0.0, 0.1, 0.5, 1.0]) if name not in limit else limit[name]
    exact = name in ("random", "graded", "mapping", "table-transform", "anatomy", "microaggregation", *_PERTURBED)
    models = _models(rng, name, [columns[one] for one in sensitive])
    return Case(
        seed=seed,
        rows=rows,
        columns=columns,
        quasi=quasi,
        sensitive=sensitive,
        models=_newer(random.Random(-1 - seed), models) if newer else models,
        algorithm=algorithm,
        missing=missing,
        people=people,
        linked=linked,
        suppressed="drop" if exact else rng.choice(["drop", "drop", "star"]),
        format=rng.choice(["csv", "csv", "parquet"]),
    )


def _quasi(name: str, rng: random.Random, kinds: list[str] | None) -> Column:
    kind = rng.choice(kinds or ["int", "real", "date", "ordinal", "flat", "tree", "prefix", "widths", "dates"])
    column = Column(name, kind)
    if kind == "ordinal":
        column.order = ["nil", "mild", "odd, one", "severe", "worst"][: rng.randint(2, 5)]
    if kind == "flat":
        column.order = rng.sample(_TEXTS, rng.randint(1, 7))
    if kind == "tree":
        column.paths = _tree(rng, f"{name}-")
    return column


def _tree(rng: random.Random, prefix: str) -> dict[str, list[str]]:
    leaves = rng.randint(2, 9)
    middle = [f"{prefix}group {i // 2}" for i in range(leaves)]
    upper = [f"{prefix}part {i // 4}" for i in range(leaves)]
    levels = rng.randint(1, 2)
    return {f"{prefix}leaf {i}": [middle[i], upper[i]][:levels] for i in range(leaves)}


def _sensitive(rng: random.Random, algorithm: str) -> list[Column]:
    values = ["flu", "HIV", "asthma", "ulcer", "withheld"]
    first = Column("s", rng.choice(["flat", "flat", "tree", "int"]), order=values)
    if algorithm in ("personalised",):
        first.kind = "tree"
    if algorithm in ("mapping", "anatomy", "m-invariant"):
        first.kind, first.even = "flat", algorithm != "mapping"
    if algorithm == "graded":
        first.kind = "int"
    if first.kind == "tree":
        first.paths = _tree(rng, "s-")
    if first.kind == "flat" and rng.random() < 0.3:
        first.non_answers = ["withheld"]
    if algorithm in ("personalised", "m-invariant", "anatomy", "alpha-k") or rng.random() < 0.6:
        return [first]
    return [first, Column("t", rng.choice(["int", "flat"]), order=["low", "mid", "high"])]


def _row(index: int, columns: dict[str, Column], quasi: list[str], rng: random.Random, holes: bool) -> Row:
    row: Row = {"name": f"Zaxq{index}w Vortk{index}y"}
    for name, column in columns.items():
        hole = holes and rng.random() < 0.05
        row[name] = None if hole else _value(column, rng, name in quasi)
    return row


def _value(column: Column, rng: random.Random, quasi: bool) -> str:
    kind = column.kind
    if kind in ("int", "widths"):
        return str(rng.randint(18, 90) if quasi else rng.choice([0, 10, 10, 25, 25, 40, 70, 90]))
    if kind == "real":
        return f"{rng.randint(-40, 40) / 8:g}"
    if kind in ("date", "dates"):
        return (dt.date(1980, 1, 1) + dt.timedelta(days=rng.randrange(1500))).isoformat()
    if kind == "prefix":
        return f"{rng.randrange(40):02}{rng.randrange(30):03}"
    values = column.order if kind in ("ordinal", "flat") else list(column.paths)
    skewed = not quasi and not column.even
    return values[min(int(rng.expovariate(0.7)), len(values) - 1)] if skewed else rng.choice(values)


def _models(rng: random.Random, algorithm: str, sensitive: list[Column]) -> list[dict[str, Any]]:
    if algorithm in _PERTURBED:
        return []
    if algorithm in ("random", "graded", "mapping", "table-transform") and rng.random() < 0.6:
        return []
    if algorithm == "personalised":
        return [{"name": "k", "k": 2}] if rng.random() < 0.5 else []
    size = rng.randint(2, 4)
    found: list[dict[str, Any]] = [{"name": "k", "k": 2 if algorithm == "m-invariant" else size}]
    taken = {"alpha-k": "alpha", "upc": "range-diversity"}.get(algorithm, "?")
    simple = algorithm in ("samarati", "incognito")  # they refuse models that could mislead their pruning
    for column in sensitive:
        model = {"name": "distinct-l", "l": 2} if simple and rng.random() < 0.8 else _on(rng, column)
        if rng.random() < 0.75 and not model["name"].startswith(taken):
            found.append(model | {"on": column.name})
    if rng.random() < 0.1 and algorithm not in _NO_UTILITY:
        found.append({"name": "worst-group-utility", "u": 0.7})
    if len(sensitive) == 2 and rng.random() < 0.15:
        found.append({"name": "distinct-l", "l": 2, "on": [one.name for one in sensitive]})
    return found


def _newer(rng: random.Random, models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Some of the models on one column replaced by those that compare classes with the table value by value."""
    options = [
        {"name": "beta-likeness", "beta": rng.choice([1.0, 3.0]), "variant": rng.choice(["basic", "enhanced"])},
        {"name": "delta-disclosure", "delta": rng.choice([1.0, 2.5]), "reference": rng.choice(["input", "released"])},
    ]
    return [
        rng.choice(options) | {"on": model["on"]} if isinstance(model.get("on"), str) and rng.random() < 0.2 else model
        for model in models
    ]


def _on(rng: random.Random, column: Column) -> dict[str, Any]:
    options: list[dict[str, Any]] = [
        {"name": "distinct-l", "l": rng.randint(2, 3)},
        {"name": "entropy-l", "l": rng.choice([1.3, 1.8, 2.2])},
        {"name": "recursive-cl", "c": rng.choice([1.5, 3.0]), "l": 2},
        {"name": "t-closeness", "t": rng.choice([0.25, 0.4]), "reference": rng.choice(["input", "released"])},
        {"name": "alpha-k-general", "alpha": rng.choice([0.6, 0.8]), "k": 2},
        {"name": "p-sensitive", "p": 2, "k": rng.randint(2, 4)},
        {"name": "range-diversity", "p": 0.7},
        {"name": "range-confidence", "p": 0.8},
        {"name": "max-range", "limit": 0.8},
    ]
    if column.kind == "int":
        options += [{"name": "k-e", "k": 2, "e": 10.0}, {"name": "variance", "v": 25.0}]
        options.append({"name": "eps-m", "eps": 5.0, "m": 2})
    else:
        value = next(iter(column.paths), "HIV") if column.kind == "tree" else column.order[0]
        options += [
            {"name": "alpha-k-simple", "alpha": 0.7, "k": 2, "value": value},
            {"name": "alpha-k-complete", "alpha": {value: 0.6}, "default": 0.9, "k": 2},
        ]
    return rng.choice(options)
