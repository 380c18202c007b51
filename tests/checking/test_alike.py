"""``check`` tells the same of the same rows, whether they are in memory or with an engine that keeps them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.recipe.recipe import load_recipe
from shoal.recipe.source import settled
from shoal.release.check import examine
from tests.cli.conftest import recipe_text

pytest.importorskip("duckdb")

QUASI = 'quasi = ["age", "sex"]'
K3 = 'name = "k"\nk = 3'
L2 = '"distinct-l"\nl = 2'
ALGORITHM, FOLDER = 'name = "mondrian"', 'folder = "out"'
RECIPE = recipe_text(f'identifiers = ["name"]\n{QUASI}', k=3, top="acknowledge = []")
CODED = '[columns.disease]\ncode = "mapping"\n'
ILL = ("flu", "cold", "gout")
HEADER = ["name", "age", "sex", "disease"]
ROWS = [[f"p{n}", 20 + n * 7 % 45, "fm"[n % 2], ILL[n * 5 % 11 % 3]] for n in range(60)]

Change = tuple[str, str]
Table = tuple[list[str], list[list[object]]]


def with_column(name: str, cell: Callable[[int], object]) -> Table:
    return [*HEADER, name], [[*row, cell(n)] for n, row in enumerate(ROWS)]


PEOPLE: Table = (HEADER, ROWS)
SURNAMES = ("Zbrowski", "Kowalczyk", "Brzozowa", "Wojtas", "Dudek")
NAMED = [[f"{SURNAMES[n % 5]}{'aeiou'[n // 5 % 5]}x", *row[1:]] for n, row in enumerate(ROWS)]
# What is changed in the recipe, the rows, and words that some of the problems hold, one each.
FAULTS: dict[str, tuple[list[Change], Table, list[str]]] = {
    "a mistyped code hides nothing": (
        [("acknowledge = []", 'acknowledge = ["W-NOTHING"]'), (K3, 'name = "entropy-l"\nl = 2')],
        PEOPLE, ["W-NOTHING", "W-NO-K"],
    ),
    "a mistyped code and a node of another table": (
        [("acknowledge = []", 'acknowledge = ["W-NOTHING"]'), (ALGORITHM, 'name = "optimal"\nnode = [1, 1, 1]')],
        PEOPLE, ["W-NOTHING", "The 'node' of Optimal"],
    ),
    "a model that does not fit": ([(L2, f'{L2}\non = "age"')], PEOPLE, ["'age'"]),
    "a code of the kind": (
        [(f"{ALGORITHM}\n", 'name = "anatomy"\nl = 2\n')], PEOPLE, ["W-EXACT-QI"],
    ),
    "codes that are read back": (
        [("[algorithm]", f"{CODED}[algorithm]"), (FOLDER, f"{FOLDER}\ndiscard_secret = true")], PEOPLE, ["W-PP-REV"],
    ),
    "given codes that do not fit": (
        [("[algorithm]", f"{CODED}[algorithm]"), (FOLDER, f'{FOLDER}\ndiscard_secret = true\ncodes = "some.json"')],
        PEOPLE, ["misses 1 of its values"],
    ),
    "tokens": (
        [('identifiers = ["name"]', 'pseudonym = ["name"]'), (FOLDER, f"{FOLDER}\ndiscard_secret = true")],
        PEOPLE, ["W-TRAJECTORY"],
    ),
    "an uncodable column": (
        [("[algorithm]", f"{CODED.replace('mapping', 'graded')}[algorithm]"),
         (FOLDER, f"{FOLDER}\ndiscard_secret = true")],
        PEOPLE, ["code it by 'mapping'", "W-PP-REV"],
    ),
    "k above the rows": ([("k = 3", "k = 1000")], PEOPLE, ["only 60 rows"]),
    "names": (
        [(QUASI, f'{QUASI}\nneutral = ["note"]')],
        ([*HEADER, "note"], [[*row, f"{row[0]} came" if n % 3 else "none"] for n, row in enumerate(NAMED)]),
        ["Identifiers are left"],
    ),
    "words of names, and free text": (
        [(QUASI, f'{QUASI}\nneutral = ["note"]')],
        ([*HEADER, "note"], [
            [f"{row[0]} Maria", *row[1:], f"seen with {row[0]} on day {n}"] for n, row in enumerate(NAMED)
        ]),
        ["W-NAMES:note", "W-TEXT:note"],
    ),
    "alone on neutral columns in the end": (
        [(QUASI, f'{QUASI}\nneutral = ["ward"]')], with_column("ward", lambda n: n // 6), ["W-NEUTRAL"],
    ),
    "a source with several faults": (
        [(QUASI, 'quasi = ["age", "sex", "seen"]\nneutral = ["ward"]'),
         ("[[models]]", '[hierarchies]\nsex = "sex.csv"\n[[models]]')],
        ([*HEADER, "seen", "ward"], [
            [*row[:3], "" if n % 7 == 0 else row[3], f"{n % 28 + 1}.03.2020", "" if n == 5 else "w"]
            for n, row in enumerate(ROWS)
        ]),
        ["looks like dates", "disease (9)", "lacks 1 of 2 values"],
    ),
    "roles that do not fit": (
        [(QUASI, 'quasi = ["age", "zip"]\nneutral = ["ward"]')], PEOPLE, ["'zip'", "'ward'", "no role"],
    ),
    "a mistyped method hides nothing": (
        [(ALGORITHM, 'name = "mondriann"'), ('sensitive = ["disease"]', 'sensitive = ["dissease"]')],
        PEOPLE, ["'mondriann'", "'dissease'", "Column 'disease' has no role"],
    ),
    "rules of research that do not fit": (
        [(ALGORITHM, 'name = "rv-global"\nrules = [{ column = "zip", separate = ["f", "m"] }]'),
         (L2, f'{L2}\n[[models]]\nname = "entropy-l"\nl = 9')],
        PEOPLE, ["'zip'", "cannot be met"],
    ),
}  # fmt: skip


# Too many rows to be tried whole: one person's name stands in the row of another.
LARGE = 4300
WHOLE = [f"{SURNAMES[n % 5]}{n:04d}".translate(str.maketrans("0123456789", "abcdefghij")) for n in range(LARGE)]


def hidden_in_ward(missing_age: bool) -> Table:
    return [*HEADER, "ward"], [
        [f"Ada {name}", "" if missing_age and n == 7 else 20 + n * 7 % 45, "fm"[n % 2], ILL[n * 5 % 11 % 3],
         f"Ada {WHOLE[7]}" if n == 8 else "north"]
        for n, name in enumerate(WHOLE)
    ]  # fmt: skip


def told(recipe: Path, engine: str) -> tuple[list[str], dict[str, object]]:
    """Every problem in words, and what else is known of the rows."""
    text = recipe.read_text("utf-8")
    mine = recipe.with_name(f"{engine}.toml")
    mine.write_text(f'{text}\n[engine]\nname = "{engine}"\n', "utf-8")
    facts, problems = examine(settled(load_recipe(mine)), lambda step: None)
    wanted = ("rows", "rows_dropped", "people", "models", "vacuous", "algorithm", "rules", "refusals", "infeasible")
    return sorted(map(str, problems)), {key: facts.get(key) for key in (*wanted, "untold")}


def write(folder: Path, changes: list[Change], table: Table) -> Path:
    header, rows = table
    lines = [header, *[[str(cell) for cell in row] for row in rows]]
    (folder / "people.csv").write_text("\n".join(map(",".join, lines)) + "\n", "utf-8")
    (folder / "sex.csv").write_text("f;*\n", "utf-8")
    some = '[{"kind": "mapping", "column": "disease", "mapping": {"flu": "a", "cold": "b"}}]'
    (folder / "some.json").write_text(some, "utf-8")
    text = RECIPE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "recipe.toml").write_text(text, "utf-8")
    return folder / "recipe.toml"


@pytest.mark.parametrize("name", FAULTS)
def test_the_same_is_told_of_the_same_rows(tmp_path: Path, name: str) -> None:
    changes, table, words = FAULTS[name]
    recipe = write(tmp_path, changes, table)
    memory, kept = told(recipe, "memory"), told(recipe, "duckdb")
    assert [one for one in words if not any(one in problem for problem in memory[0])] == [], memory[0]
    assert kept[0] == memory[0]
    assert kept[1] == memory[1] or name == "a source with several faults"


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("who", ["of a token", "of a row left out"])
def test_names_are_found_that_the_gate_would_find(tmp_path: Path, engine: str, who: str) -> None:
    neutral, without = (QUASI, f'{QUASI}\nneutral = ["ward"]'), who == "of a row left out"
    changes = [neutral, ('path = "people.csv"', 'path = "people.csv"\nmissing = "drop"')] if without else [
        neutral, ('identifiers = ["name"]', 'pseudonym = ["name"]'), (FOLDER, f"{FOLDER}\ndiscard_secret = true"),
    ]  # fmt: skip
    found = told(write(tmp_path, changes, hidden_in_ward(without)), engine)[0]
    assert any("1 cells of 'ward' hold somebody's 'name'" in one for one in found), found


def test_nothing_is_told_of_what_is_fine(tmp_path: Path) -> None:
    recipe = write(tmp_path, [], PEOPLE)
    found = told(recipe, "duckdb")
    assert found == told(recipe, "memory")
    assert found[0] == []


@pytest.mark.parametrize("method", ["mondrian", "mondriann"])
def test_what_an_engine_does_not_serve_hides_nothing_else(tmp_path: Path, method: str) -> None:
    """Nor does one such thing another, nor a method that there is not."""
    limited = ("[output]", '[limits]\nlinkage = 0.5\n[workload]\ntarget = "disease"\n[output]')
    changes = [limited, (K3, 'name = "k"\nk = 1000'), (ALGORITHM, f'name = "{method}"')]
    recipe = write(tmp_path, changes, PEOPLE)
    memory, kept = told(recipe, "memory"), told(recipe, "duckdb")
    assert [one for one in kept[0] if "does not serve" not in one] == memory[0]
    found = [one.split(":")[0] for one in kept[0] if "does not serve" in one]
    assert found == ["The engine 'duckdb' does not serve a workload"]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_method_is_not_begun_where_no_run_could_come_to_it(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    for name in ("InMemory", "Elsewhere"):
        place = f"shoal.release.check_source.{name}.begin"
        monkeypatch.setattr(place, lambda self, method, judge: begun.append(method.name))
    assert told(write(tmp_path, *FAULTS["an uncodable column"][:2]), engine)[0]
    assert begun == []
    told(write(tmp_path, *FAULTS["a mistyped code and a node of another table"][:2]), engine)
    assert begun == ["optimal"]
