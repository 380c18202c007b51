"""``check`` refuses what ``run`` refuses, with the same sentence and exit code, and all of it at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result, recipe_text

Shoal = Callable[..., Result]

RECIPE = recipe_text(
    'identifiers = ["name"]\nquasi = ["age", "sex"]', k=3, top="acknowledge = []", more="[hierarchies]\n"
)
K3 = 'name = "k"\nk = 3'
ALGORITHM, HIERARCHIES, FOLDER = 'name = "mondrian"', "[hierarchies]\n", 'folder = "out"'
QUASI = 'quasi = ["age", "sex"]'
REST = RECIPE[RECIPE.index(QUASI) + len(QUASI) : RECIPE.index(ALGORITHM) + len(ALGORITHM)]
TREES = 'age = { widths = [10] }\nsex = { nested = { "*" = ["f", "m"] } }\n'
# From the columns' settings to the folder: where a sensitive column is coded, and with what.
CODING = RECIPE[RECIPE.index(HIERARCHIES) : RECIPE.index(FOLDER) + len(FOLDER)]


def coding(code: str, codes: str = "", old: str = "", new: str = "") -> tuple[str, str]:
    """The disease published as codes, and what else is changed."""
    text = CODING.replace(HIERARCHIES, f"[columns.disease]\ncode = {code}\n{HIERARCHIES}")
    return CODING, f"{text.replace(old, new)}\ndiscard_secret = true\n{codes}"


# What stands beside an algorithm that ranks by research value: age has three levels.
RESEARCH = {
    "rv: list too short": "rv = { age = [1.0, 0.0] }",
    "rv: list that does not end with 0": "rv = { age = [1.0, 0.5, 0.5] }",
    "rv: list of text": 'rv = { age = ["a", "b", "c"] }',
    "rv: list of no column": "rv = { zip = [1.0, 0.0] }",
    "rv: list that is none": "rv = { age = 1 }",
    "rule on no column": 'rules = [{ column = "zip", separate = ["f", "m"] }]',
    "rule on a sensitive column": 'rules = [{ column = "disease", separate = ["flu", "cold"] }]',
    "rule of no value": 'rules = [{ column = "sex", separate = ["f", "x"] }]',
    "rule of one value twice": 'rules = [{ column = "sex", separate = ["f", "f"] }]',
    "rule of neither form": 'rules = [{ column = "sex" }]',
    "rule of an unknown entry": 'rules = [{ column = "sex", separat = ["f", "m"] }]',
    "boundary of text": 'rules = [{ column = "age", boundary = "old" }]',
    "boundary on text": 'rules = [{ column = "sex", boundary = 3 }]',
    "boundary outside": 'rules = [{ column = "age", boundary = 900 }]',
}
# What is replaced in the recipe, and by what.
BAD: dict[str, tuple[str, str]] = {
    "k = 0": ("k = 3", "k = 0"),
    "k of text": ("k = 3", 'k = "three"'),
    "k above the rows": ("k = 3", "k = 1000"),
    "unknown parameter": ("k = 3", "k = 3\nkk = 4"),
    "unknown model": ('name = "k"', 'name = "kk"'),
    "model on no column": ("l = 2", 'l = 2\non = "zip"'),
    "model on a quasi-identifier": ("l = 2", 'l = 2\non = "age"'),
    "l above the values": ("l = 2", "l = 9"),
    "l of 1": ("l = 2", "l = 1"),
    "t above 1": ('"distinct-l"\nl = 2', '"t-closeness"\nt = 1.5'),
    "vacuous t": ('"distinct-l"\nl = 2', '"t-closeness"\nt = 1.0'),
    "no identity model": (K3, 'name = "entropy-l"\nl = 2'),
    "unprotected column": ('\n[[models]]\nname = "distinct-l"\nl = 2\n', ""),
    "unknown code": ("acknowledge = []", 'acknowledge = ["W-NOTHING"]'),
    "order kept": (FOLDER, f'{FOLDER}\norder = "kept"'),
    "snap off": (HIERARCHIES, '[columns.age]\nsnap = "off"\n[hierarchies]\n'),
    "unknown algorithm": (ALGORITHM, 'name = "mondrain"'),
    "unknown parameter of the algorithm": (ALGORITHM, f"{ALGORITHM}\ncutt = 1"),
    "cut of no name": (ALGORITHM, f'{ALGORITHM}\ncut = "x"'),
    "suppression above 1": (ALGORITHM, f"{ALGORITHM}\nsuppression_limit = 1.5"),
    "node of an unknown column": (ALGORITHM, 'name = "optimal"\nnode = { zip = 1 }'),
    "measure of no name": (ALGORITHM, 'name = "optimal"\nmeasure = "x"'),
    "neutral columns": (QUASI, 'quasi = ["sex"]\nneutral = ["age"]'),
    "neutral columns, some rows suppressed": (
        f"{QUASI}{REST}",
        f'quasi = ["sex"]\nneutral = ["age"]{REST}\nsuppression_limit = 0.1',
    ),
    "neutral column of no name": (QUASI, f'{QUASI}\nneutral = ["zip"]'),
    "neutral column of two roles": (QUASI, f'{QUASI}\nneutral = ["age"]'),
    "graded text": (ALGORITHM, 'name = "graded"\non = ["disease"]'),
    "mapping of a quasi-identifier": (ALGORITHM, 'name = "mapping"\non = ["age"]'),
    "hierarchy that lacks values": (HIERARCHIES, '[hierarchies]\nsex = "sex.csv"\n'),
    "hierarchy that is absent": (HIERARCHIES, '[hierarchies]\nsex = "nowhere.csv"\n'),
    "hierarchy of no column": (HIERARCHIES, "[hierarchies]\nzip = { prefix = [1] }\n"),
    "widths of text": (HIERARCHIES, "[hierarchies]\nsex = { widths = [10] }\n"),
    "source that is absent": ('"people.csv"', '"nobody.csv"'),
    "column without a role": ('["age", "sex"]', '["age"]'),
    "column with two roles": ('["age", "sex"]', '["age", "sex", "disease"]'),
    "role of no column": ('["age", "sex"]', '["age", "sex", "zip"]'),
    "folder in use": (FOLDER, 'folder = "."'),
    "folder in evidence": (FOLDER, 'folder = "x.evidence/out"'),
    "vault with nothing to keep": (FOLDER, f'{FOLDER}\nvault = "keys.vault"'),
    "limit of no attack": ("[output]", "[limits]\nlinkag = 0.1\n[output]"),
    "limit of a parameter that is unknown": ("[output]", '[limits]\n"proximity epss=3" = 0.1\n[output]'),
    "limit of a parameter that cannot be": ("[output]", '[limits]\n"proximity eps=-3" = 0.1\n[output]'),
    "limit on no sensitive column": ("[output]", '[limits]\n"homogeneity on age" = 0.1\n[output]'),
    "limit with parameters of no attack": ("[output]", '[limits]\n"prosecutor_max eps=3" = 0.1\n[output]'),
    "excess of a parameter that is unknown": ("[output]", '[limits]\nexcess."proximity e=3" = 0.1\n[output]'),
    "limit above 1": ("[output]", "[limits]\nlinkage = 2\n[output]"),
    "code of texts as numbers": coding('"graded"'),
    "code of an empty prefix": coding('{ how = "mapping", prefix = "" }'),
    "code of values by group": coding('"mapping"', "", ALGORITHM, 'name = "anatomy"\nl = 2'),
    "model that names a value of a coded column": coding(
        '"mapping"', "", '"distinct-l"\nl = 2', '"alpha-k-simple"\nalpha = 0.9\nk = 2\nvalue = "flu"'
    ),
    "codes that miss a value": coding('"mapping"', 'codes = "some.json"'),
    "codes of no file": coding('"mapping"', 'codes = "none.json"'),
    "codes without anything coded": (FOLDER, f'{FOLDER}\ncodes = "some.json"'),
    "policy of no column": ("[output]", '[policies.zip]\nranges = "value"\n[output]'),
    "key that is unknown": ("[output]", "[outptu]\nx = 1\n[output]"),
    **{
        name: (REST, REST.replace(HIERARCHIES, HIERARCHIES + TREES).replace(ALGORITHM, f'name = "rv-global"\n{text}'))
        for name, text in RESEARCH.items()
    },
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    lines = [f"p{n},{20 + n * 7 % 45},{'fm'[n % 2]},{('flu', 'cold', 'gout')[n * 5 % 11 % 3]}" for n in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["name,age,sex,disease", *lines]) + "\n", "utf-8")
    (tmp_path / "sex.csv").write_text("f;*\n", "utf-8")
    some = '[{"kind": "mapping", "column": "disease", "mapping": {"flu": "a", "cold": "b"}}]'
    (tmp_path / "some.json").write_text(some, "utf-8")

    def make(text: str) -> Path:
        (tmp_path / "recipe.toml").write_text(text, "utf-8")
        return tmp_path / "recipe.toml"

    return make


def test_the_recipe_itself_is_fine(shoal: Shoal, write: Callable[[str], Path]) -> None:
    recipe = write(RECIPE)
    assert (shoal("check", recipe).code, shoal("run", recipe).code) == (0, 0)


def test_research_values_and_neutral_columns_are_fine(shoal: Shoal, write: Callable[[str], Path]) -> None:
    """What the recipes below spoil: otherwise they might be refused for something else."""
    rest = REST.replace(HIERARCHIES, HIERARCHIES + TREES).replace(ALGORITHM, 'name = "rv-global"')
    rules = 'rules = [{ column = "sex", separate = ["f", "m"] }, { column = "age", boundary = 40 }]'
    recipe = write(RECIPE.replace(REST, f"{rest}\nrv = {{ sex = [1.0, 0.0] }}\n{rules}"))
    assert (shoal("check", recipe).code, shoal("run", recipe).code) == (0, 0)
    wide = RECIPE.replace(QUASI, 'quasi = ["age"]\nneutral = ["sex"]').replace(FOLDER, 'folder = "wide"')
    assert (shoal("check", write(wide)).code, shoal("run", write(wide)).code) == (0, 0)


def test_rules_of_the_recipe_are_shown_whatever_says_them(shoal: Shoal, write: Callable[[str], Path]) -> None:
    """An algorithm that searches by research values said that it had no rules, although it would keep those."""
    rest = REST.replace(HIERARCHIES, HIERARCHIES + TREES).replace(ALGORITHM, 'name = "rv-global"')
    research = '[research]\nrules = [{ column = "sex", separate = ["f", "m"] }]\nrv = { sex = [1.0, 0.0] }'
    recipe = write(f"{RECIPE.replace(REST, rest)}\n{research}\n")
    found = shoal("check", recipe, "--json").json
    assert found["rules"] == ["sex: f | m"]
    assert [one["column"] for one in found["algorithm"]["rules"]] == ["sex"]
    assert found["algorithm"]["rv"] == {"sex": [1.0, 0.0]}
    said = shoal("check", recipe).out
    assert "Rule: sex: f | m" in said
    assert "rules=" not in said
    plain = shoal("check", write(RECIPE), "--json").json
    assert (plain["rules"], "rules" in plain["algorithm"]) == ([], False)


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", BAD)
def test_check_ends_as_run_does(
    shoal: Shoal, write: Callable[[str], Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_PASSPHRASE", "a long and boring sentence")
    old, new = BAD[name]
    assert old in RECIPE
    recipe = write(RECIPE.replace(old, new, 1))
    before = sorted(recipe.parent.rglob("*"))
    checked, run = shoal("check", recipe), shoal("run", recipe)
    assert run.code in (2, 3), run.out
    assert (checked.code, checked.err) == (run.code, run.err)
    assert sorted(recipe.parent.rglob("*")) == before


@pytest.mark.parametrize("name", ["optimal", "samarati", "incognito", "top-down-subtree"])
def test_no_method_needs_a_hierarchy(shoal: Shoal, write: Callable[[str], Path], name: str) -> None:
    recipe = write(RECIPE.replace(ALGORITHM, f'name = "{name}"', 1))
    assert shoal("check", recipe).code == 0
    assert shoal("run", recipe, "--dry-run").code == 0


def test_codes_need_their_warning_code_and_are_fine_with_it(shoal: Shoal, write: Callable[[str], Path]) -> None:
    recipe = write(RECIPE.replace(*coding('"mapping"')))
    asked = shoal("check", recipe, "--json")
    assert (asked.code, asked.json["refusals"][0]["codes"]) == (2, ["W-PP-REV"])
    assert shoal("run", recipe).code == 2
    recipe = write(recipe.read_text("utf-8").replace("acknowledge = []", 'acknowledge = ["W-PP-REV"]'))
    assert (shoal("check", recipe).code, shoal("run", recipe).code) == (0, 0)


def test_all_problems_are_told_at_once(shoal: Shoal, write: Callable[[str], Path]) -> None:
    changes = ["k = 0", "unknown parameter of the algorithm", "folder in evidence", "limit of no attack", "l of 1"]
    text = RECIPE
    for name in changes:
        text = text.replace(*BAD[name], 1)
    result = shoal("check", write(text), "--json")
    assert result.code == 2
    assert "problems" in result.json, result.out
    told = " ".join(one["message"] for one in result.json["problems"])
    assert len(result.json["problems"]) >= 4
    assert all(word in told for word in ("evidence", "cutt", "'k'", "linkag")), told


def test_everything_about_a_source_is_told_at_once(shoal: Shoal, write: Callable[[str], Path]) -> None:
    """A run stops at the first of these; each is the sentence that it would come to."""
    lines = [f"p{n},{20 + n % 9},{'fmx'[n % 3]},{n % 28 + 1}.03.2020,{('flu', '')[n % 7 == 0]}" for n in range(60)]
    recipe = write(RECIPE.replace('"sex"]', '"sex", "seen"]').replace(HIERARCHIES, f'{HIERARCHIES}sex = "sex.csv"\n'))
    (recipe.parent / "people.csv").write_text("\n".join(["name,age,sex,seen,disease", *lines]) + "\n", "utf-8")
    result = shoal("check", recipe, "--json")
    told = [one["message"] for one in result.json["problems"]]
    assert result.code == 2
    expected = ("'seen' looks like dates", "missing cells in disease (9)", "lacks 2 of 3 values: add a line")
    assert [words for words in expected if not any(words in one for one in told)] == []
    assert shoal("run", recipe).err.strip().endswith(told[0])


def test_a_dry_run_tells_what_a_check_cannot(shoal: Shoal, write: Callable[[str], Path]) -> None:
    """People are alone on quasi-identifiers and neutral columns together, which nothing but a release tells."""
    lines = [f"p{n},{20 + n % 20},{'fm'[n % 2]},{n // 6},{('flu', 'gout')[n // 2 % 2]}" for n in range(60)]
    recipe = write(RECIPE.replace(QUASI, f'{QUASI}\nneutral = ["ward"]'))
    (recipe.parent / "people.csv").write_text("\n".join(["name,age,sex,ward,disease", *lines]) + "\n", "utf-8")
    before = sorted(recipe.parent.rglob("*"))
    checked, dry = shoal("check", recipe), shoal("run", recipe, "--dry-run")
    assert sorted(recipe.parent.rglob("*")) == before
    assert (checked.code, dry.code) == (0, 2)
    assert "W-NEUTRAL" in dry.err
    assert shoal("run", recipe).err == dry.err


def test_a_check_tells_what_only_a_run_tells(shoal: Shoal, write: Callable[[str], Path]) -> None:
    limited = RECIPE.replace("[output]", "[limits]\nprosecutor_max = 0.1\n[output]")
    found = shoal("check", recipe := write(limited))
    said = "whether all rows can be released and whether the release keeps its limits"
    assert found.code == 0
    assert found.out.splitlines()[-2:] == [
        f"Nothing known before a run stands in its way; the run tells {said}.",
        f"Try it without writing anything: shoal run {recipe} --dry-run",
    ]
