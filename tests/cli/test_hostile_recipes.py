"""Recipes that nobody writes by hand: one sentence and exit code 2 or 3 for each, in little memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from shoal.cli.main import execute
from shoal.errors import RecipeError
from shoal.recipe.recipe import parse_recipe
from tests.cli.conftest import recipe_text

ROWS = "\n".join(f"{20 + i % 6},{'mf'[i % 2]},{['flu', 'cold', 'HIV'][i % 3]}" for i in range(24))
RECIPE = recipe_text('quasi = ["age", "sex"]', k=2, source='path = "p.csv"', more='[columns.age]\nsnap = "auto"')
RECIPE = RECIPE.replace("l = 2", 'l = 2\non = "disease"')
SNAP = 'snap = "auto"'
HUGE = "1" + "0" * 400
CHANGES = {
    **{f"on {on}": ('on = "disease"', f"on = {on}") for on in (
        "0", "[]", "{}", "[0]", '[["disease"]]', "1.5", "true", "1979-01-01", '["disease", "disease"]', '""',
    )},
    **{f"snap {snap}": (SNAP, f"snap = {snap}") for snap in ("1e308", "1e-308", "inf", "nan", "0", HUGE, "true")},
    **{f"format {form!r}": (SNAP, f'type = "date"\nformat = "{form}"') for form in ("", "x", "%", "%Q", "%%")},
    **{f"domain {ends}": (SNAP, f"domain = {ends}") for ends in (f"[0, {HUGE}]", "[nan, nan]", "[1e999, 0]", "[]")},
    "k of 400 digits": ("k = 2", f"k = {HUGE}"),
    "k of 5000 digits": ("k = 2", "k = 1" + "0" * 5000),
    "k beyond floats": ("k = 2", "k = 9223372036854775807"),
    "l without end": ("l = 2", "l = inf"),
    "seed of 400 digits": ("seed = 1", f"seed = {HUGE}"),
    "zero byte in source": ("p.csv", "p\\u0000.csv"),
    "zero byte in folder": ('"out"', '"out\\u0000"'),
    "zero byte in vault": ('folder = "out"', 'folder = "out"\nvault = "v\\u0000.vault"'),
    "zero byte in hierarchy": ("[output]", '[hierarchies]\nage = "a\\u0000b"\n[output]'),
    "zero byte in policy": ("[output]", '[policies.disease]\nranges = "a\\u0000b"\n[output]'),
    "zero byte in registry": ("[output]", '[registry]\nfile = "a\\u0000b.registry"\n[output]'),
    "deep lists": ('name = "mondrian"', 'name = "mondrian"\nx = ' + "[" * 300 + "]" * 300),
    "lists without end": ('name = "mondrian"', 'name = "mondrian"\nx = ' + "[" * 100_000),
    "deep tables": ("[output]", "[" + ".".join("a" * 400) + "]\n[output]"),
}  # fmt: skip


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_refusal_of_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str) -> None:
    old, new = CHANGES[change]
    assert old in RECIPE
    (tmp_path / "p.csv").write_text(f"age,sex,disease\n{ROWS}\n")
    (tmp_path / "r.toml").write_text(RECIPE.replace(old, new))
    assert execute(["run", str(tmp_path / "r.toml")]) in (2, 3)
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert shown.count("\n") == 1
    assert "internal" not in shown
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "r.toml"]


@pytest.mark.parametrize("key", ["a" + ".a" * 50_000, '"a"' + '."a"' * 25_000, "[a" + " . a" * 25_000 + "]"])
def test_long_keys_take_no_memory(key: str) -> None:
    text = key if key.startswith("[") else f"{key} = 1"
    tracemalloc.start()
    with pytest.raises(RecipeError, match="a key of more than 16 parts"):
        parse_recipe(text)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_long_lists_of_numbers_are_no_keys() -> None:
    shares = ", ".join(f"0.{i}" for i in range(1, 400))
    made = parse_recipe(f'[source]\npath = "a.b.c"\n[algorithm]\nname = "mondrian"\nx = [{shares}]')
    assert len(made.algorithm["x"]) == 399


def test_a_recipe_is_at_most_a_mebibyte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.toml").write_text(RECIPE + "#" * (1 << 20))
    assert execute(["check", str(tmp_path / "r.toml")]) == 2
    assert "larger than a MiB" in capsys.readouterr().err
