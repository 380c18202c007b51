"""What somebody writes into a recipe, or a cell, that would cost the server more than it is worth."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.errors import RecipeError
from shoal.recipe.edit import blocks, joined, with_profile
from shoal.recoding.secrets import MappingTable
from shoal.web.jobs import kinds
from shoal.web.preview.place import Place
from shoal.web.projects.confinement import parse_confined
from shoal.web.questions.lineage import needed
from tests.web.working import RECIPE


@pytest.mark.parametrize("pattern", ["**/" * 2 + "*.csv", "**/" * 40 + "*.csv", "**/a/**"])
def test_a_pattern_goes_through_all_folders_once(tmp_path: Path, pattern: str) -> None:
    """Each further time would go through all folders for every folder that was found before."""
    for at in range(20):
        (tmp_path / "jobs" / str(at) / "a" / "b").mkdir(parents=True)
    with pytest.raises(RecipeError, match=r"The pattern in 'source.path' has '\*\*' more than once"):
        parse_confined(RECIPE.replace("source/people.csv", pattern), tmp_path)
    assert parse_confined(RECIPE.replace("source/people.csv", "jobs/**/*.csv"), tmp_path).source.path == "jobs/**/*.csv"


@pytest.mark.parametrize("path", ["a" * 300, "a/" * 3000 + "b.csv", "é" * 200 + "*"])
def test_a_path_that_no_file_can_have_is_told(tmp_path: Path, path: str) -> None:
    with pytest.raises(RecipeError, match=r"The path in 'source.path' cannot be that of a file"):
        parse_confined(RECIPE.replace("source/people.csv", path), tmp_path)


@pytest.mark.parametrize(("before", "line", "behind"), [
    ('purpose = """\n', "[a]\n", '"""\n'), ("purpose = '''\n", "[a]\n", "'''\n"),
    ("safeguards = [\n", "[1]\n,\n", "]\n"),
])  # fmt: skip
def test_lines_that_look_like_headings_cost_no_more_than_others(
    monkeypatch: pytest.MonkeyPatch, before: str, line: str, behind: str
) -> None:
    text = f'[source]\npath = "a.csv"\n[review]\n{before}{line * 200}{behind}[output]\nfolder = "b"\n'
    loads, parsed = tomllib.loads, []
    loads(text)
    monkeypatch.setattr(tomllib, "loads", lambda one: (parsed.append(one), loads(one))[1])
    found = blocks(text)
    assert parsed == ["[source]\n", "[review]\n", "[output]\n"]  # none of the others, and nothing twice
    assert [one.heading for one in found] == ["", "[source]\n", "[review]\n", "[output]\n"]
    assert joined(found) == text


@pytest.mark.parametrize("text", [
    'a = "[b]" # [c]\n[d]\n', "a = '\"'\n[d]\n", 'a = """"x"""""\n[d]\n', 'a = "\\\\"\n[d]', "a = { b = \"]\" }\n[d]\n",
    "a = [ '[', # ]\n[1]\n]\n[d]\n", 'a = """\n\\"""\n[no]\n"""\n[d]\n', "\n\n[d]\n",
])  # fmt: skip
def test_headings_are_found_between_texts_and_brackets(text: str) -> None:
    tomllib.loads(text)
    assert [one.heading.strip() for one in blocks(text)] == ["", "[d]"]
    assert joined(blocks(text)) == text


def test_a_profile_is_changed_in_one_place() -> None:
    text = RECIPE.replace("acknowledge", "# first\nacknowledge")
    there = with_profile(text, "internal")
    assert tomllib.loads(there) == {**tomllib.loads(text), "profile": "internal"}
    assert "# first" in there
    assert with_profile(there, "internal") == there
    assert tomllib.loads(with_profile(there, "")) == tomllib.loads(text)
    assert with_profile(text, "") == text


def test_the_same_recipe_is_read_once(tmp_path: Path) -> None:
    text = RECIPE + f"# {tmp_path}\n"
    assert Place(tmp_path, text).recipe is Place(tmp_path, text).recipe
    assert Place(tmp_path / "other", text).recipe.base == tmp_path / "other"


def test_a_comparison_has_no_more_and_no_longer_cells_than_a_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * 100_000
    people = pl.DataFrame({"age": [at % 50 for at in range(300)], "note": [f"{long}{at % 3}" for at in range(300)]})
    table = shoal.read(people, quasi=["age"], neutral=["note"])
    release = shoal.anonymize(
        table, algorithm=shoal.Mondrian(k=5), models=[shoal.KAnonymity(k=5)], seed=1, acknowledge=["W-TEXT:note"]
    )
    found = kinds.beside(release)
    assert len(found["rows"]) == 200
    assert max(len(cell or "") for row in found["rows"] for cell in (*row["before"], *row["after"])) <= 401
    monkeypatch.setattr(kinds, "_MOST_CELLS", 40)
    few = kinds.beside(release)["rows"]
    assert (len(few), few[0]["number"], few[-1]["number"]) == (20, 1, 300)


def test_cells_that_differ_behind_what_is_shown_still_differ() -> None:
    before, after = kinds._texts(["a" * 500, "b" * 500, None, "c"], ["a" * 499 + "z", "b" * 500, "d", None])
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, True, False, False]


@pytest.mark.parametrize(("rows", "codes"), [(10, 10), (1000, 300), (300, 1000)])
def test_codes_count_beside_the_cells_of_a_release(rows: int, codes: int) -> None:
    """A code of everybody is kept as a text to look up; those of a mapping that no row has are not."""
    manifest = {"data": {"rows": rows}, "columns": [{}, {}, {}]}
    mapping = MappingTable("token", {str(one): f"t{one}" for one in range(codes)})
    assert needed(manifest, []) == 32 * 3 * rows
    assert needed(manifest, [mapping]) == 32 * 3 * rows + 256 * min(rows, codes)
