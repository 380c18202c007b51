"""The same recipe on two engines: what each writes, or why it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import tomlkit

import shoal
from tests.conftest import THOROUGH
from tests.soak.cases import make
from tests.soak.run import attempt
from tests.test_released_rows import with_gaps

# For some of the synthetic census, with what differs from test to test in braces.

RECIPE = """
acknowledge = ["W-NEUTRAL"]
seed = 1
[source]
path = "people.csv"
missing = "{missing}"
[roles]
identifiers = ["name"]
quasi = ["age", "sex", "region"]
sensitive = ["diagnosis", "income"]
neutral = ["visits"]
drop = ["birth_date", "postcode", "marital_status", "education", "occupation", "industry", "admitted"]
{subject}
[hierarchies]
age = {{ widths = [5, 10, 20] }}
sex = {{ prefix = [1] }}
region = {{ prefix = [1] }}
[columns.income]
type = "numeric"
[[models]]
name = "k"
k = 3
[[models]]
name = "distinct-l"
l = 2
on = "diagnosis"
[[models]]
name = "t-closeness"
t = 0.3
on = "income"
[algorithm]
name = "{algorithm}"
suppression_limit = 0.6
[output]
format = "{format}"
suppressed = "{suppressed}"
"""


def every_method(which: int) -> list[int]:
    """Generated cases: one of every method, whatever it looks at; the first, or another for another engine.

    A regular run has every second method for one engine, and the others for the other.
    """
    found: dict[str, list[int]] = {}
    for seed in range(240):
        case = make(seed)
        if not case.again:
            found.setdefault(json.dumps({**case.algorithm, "suppression_limit": 0}), []).append(seed)
    methods = list(found.values()) if THOROUGH else list(found.values())[which::2]
    return sorted(seeds[min(which, len(seeds) - 1)] for seeds in methods)


def with_gaps_recipe(folder: Path) -> Path:
    """A recipe with quantiles and rare values, for rows of which some are dropped and others suppressed."""
    rows, recipe = with_gaps(1)
    rows.write_csv(folder / "people.csv")
    whole = {**recipe, "source": {"path": "people.csv", "missing": "drop"}, "output": {"format": "csv"}}
    (folder / "recipe.toml").write_text(tomlkit.dumps(whole), "utf-8")
    return folder / "recipe.toml"


def keyed(recipe: Path, source: Path) -> Path:
    """The same recipe for the same rows with a key."""
    rows = pl.read_csv(source, infer_schema=False)
    rows.with_columns(pl.Series("line", [f"k{17 * row}" for row in range(rows.height)])).write_csv(source)
    recipe.write_text(recipe.read_text("utf-8").replace("[roles]", '[roles]\nkey = "line"'), "utf-8")
    return recipe


def outcome(recipe: Path, engine: str, *, more: str = "") -> tuple[int, str, dict[str, bytes]]:
    """Exit code, sentence and files of a recipe, given without an engine and an output."""
    text = recipe.read_text(encoding="utf-8")
    folder = recipe.parent / f"out-{engine}"
    mine = recipe.with_name(f"{engine}.toml")
    lines = [line for line in text.splitlines() if not line.startswith("folder =")]
    at = lines.index("[output]") + 1 if "[output]" in lines else len(lines)
    head = [] if "[output]" in lines else ["[output]"]
    lines[at:at] = [*head, f'folder = "{folder.name}"']
    mine.write_text("\n".join([*lines, "[engine]", f'name = "{engine}"', more, ""]), encoding="utf-8")
    code, sentence = attempt(lambda: shoal.run(mine))
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if code == 0 else {}
    return code, sentence, files
