"""Tables and recipes that nobody would write on purpose: odd names, many columns, lost files, wrong numbers."""

from __future__ import annotations

import json
import tomllib
from threading import Event
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI

from shoal.errors import InputError
from shoal.web.jobs.kinds import assessed
from shoal.web.pages import data
from shoal.web.pages.results_view import risk_view
from shoal.web.preview import looks
from shoal.web.preview.class_counts import class_counts
from shoal.web.preview.place import Place
from tests.web.conftest import sign_in
from tests.web.test_workbench import TABS, Bench, runnable
from tests.web.working import RECIPE, people, worker_of

NAMES = ("..", ".", "a/../b", "csrf", "name", "base", "do", "column", 'q"\\x', "]]", "<script>alert(1)</script>", "é☃",
         "a  b", "x?y#z&saved=1", "long " * 60 + "name", "illness")  # fmt: skip


def table_of(app: FastAPI, names: tuple[str, ...], rows: int = 30) -> Bench:
    """A project whose table has some columns, all quasi-identifiers but the last."""
    listed = ", ".join(json.dumps(one, ensure_ascii=False) for one in names[:-1])
    head, _, rest = RECIPE.partition("quasi =")
    recipe = f"{head}quasi = [{listed}]{rest.partition(chr(10))[1]}{rest.partition(chr(10))[2]}"
    bench = Bench(app, recipe.replace("path", f"columns = {json.dumps(names, ensure_ascii=False)}\npath"))
    cells = (",".join(str("abcde"[(at + row) % 5]) for at in range(len(names))) for row in range(rows))
    (bench.folder / "source" / "people.csv").write_text("\n".join(cells) + "\n")
    return bench


def test_columns_of_any_name_have_all_pages_and_forms(app: FastAPI) -> None:
    bench = table_of(app, NAMES)
    for tab in TABS:
        assert runnable(bench.page(tab)) == [], tab
    listed = bench.page("hierarchies")
    for name in NAMES[:-1]:
        dots = {".", ".."} & set(name.split("/"))
        at = f"hierarchies/?column={quote(name, safe='')}" if dots else f"hierarchies/{quote(name)}"
        assert f'href="{bench.at}/{at}"' in listed.replace("&#39;", "'")
        assert httpx.URL(f"http://x{bench.at}/{at}").path.startswith(f"{bench.at}/hierarchies/")
        before = bench.space.version
        assert bench.send(at, do="edit", edits="add level above 0: low = a, b; high = c, d, e") == (303, ""), name
        assert bench.space.version == before + 1
        assert name in tomllib.loads(bench.space.text)["hierarchies"]
    assert bench.send("data", column=list(NAMES), **{"role-0": "drop", "type-4": "ordinal"}) == (303, "")
    made = tomllib.loads(bench.space.text)
    assert made["roles"]["drop"] == [".."]
    assert ".." not in made["hierarchies"]


def test_a_form_has_room_for_a_wide_table(app: FastAPI) -> None:
    names = tuple(f"c{at}" for at in range(340))
    bench = Bench(app, RECIPE.replace('"age", "sex", "zip"', '"c0"').replace("illness", "c1"))
    lines = [",".join(names), *[",".join("ab" * 170)] * 9]
    (bench.folder / "source" / "people.csv").write_text("\n".join(lines) + "\n")
    fields = {f"{what}-{at}": "" for at in range(340) for what in ("type", "format")}
    roles = {f"role-{at}": "quasi" if not at else "sensitive" if at == 1 else "drop" for at in range(340)}
    assert bench.send("data", column=list(names), **fields, **roles) == (303, "")
    assert len(tomllib.loads(bench.space.text)["roles"]["drop"]) == 338


@pytest.mark.parametrize(
    ("there", "shown", "more"), [(True, 5, "2 further columns are"), (False, 1, "1 further column is")]
)
def test_a_page_shows_some_columns_of_a_very_wide_table_and_says_so(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch, there: bool, shown: int, more: str
) -> None:
    bench = Bench(app, RECIPE.replace('"age", "sex", "zip"', '"c0"').replace("illness", "c1"))
    source = bench.folder / "source" / "people.csv"
    source.write_text("\n".join(["c0,c1,c2,c3,c4,c5,c6", *["a,b,a,b,a,b,a"] * 9]) + "\n")
    if not there:  # then it shows what the recipe says
        source.unlink()
    monkeypatch.setattr(looks, "apart", lambda do, *given, **_: do(*given))  # which knows what is changed here
    for module in (looks, data):
        monkeypatch.setattr(module, "SHOWN", shown)
    page = bench.page("data")
    assert f'{more} not shown here: say what they are in the <a href="{bench.at}/recipe">recipe</a>.' in page
    assert (page.count('name="column"'), page.count('<td title="')) == (shown, 9 * shown * there)
    assert ("<dd>7</dd>" in page) == there  # how many there are is told


@pytest.mark.parametrize("number", ["²", "9" * 30, "9" * 5000, "-1", "one"])
def test_a_number_that_is_none_is_told(app: FastAPI, number: str) -> None:
    bench = Bench(app)
    assert bench.browser.get(f"{bench.at}/recipe", params={"version": number}).status_code == 404
    assert bench.send("recipe/restore", version=number)[0] == 404
    assert bench.send("models", do="remove", place=number)[0] == 422
    assert bench.send("models", name="k", place=number, **{"p-k": "7"})[0] == 422
    assert bench.send("values", do="remove", place=number)[0] == 422
    assert bench.space.version == 1


def test_a_hierarchy_whose_file_is_gone_is_told_on_every_page(app: FastAPI) -> None:
    gone = '"hierarchies/gone.csv"'
    bench = Bench(app, f"{RECIPE}[hierarchies]\nage = {gone}\nsex = {{ path = {gone} }}\n")
    for tab in ("hierarchies", "counts", "hierarchies/age", "values"):
        assert "gone.csv" in bench.page(tab), tab


def test_roles_can_be_changed_where_the_source_cannot_be_looked_at(app: FastAPI) -> None:
    bench = Bench(app, RECIPE + '[columns.age]\nformat = "%Y"\n')
    (bench.folder / "source" / "people.csv").unlink()
    fields = {"role-0": "quasi", "role-1": "neutral", "role-2": "quasi", "role-3": "sensitive"}
    assert bench.send("data", column=["age", "sex", "zip", "illness"], **fields) == (303, "")
    made = tomllib.loads(bench.space.text)
    assert made["roles"]["neutral"] == ["sex"]
    assert made["columns"] == {"age": {"format": "%Y"}}
    assert "roles and types, without a look at the data" in bench.page("recipe")
    assert bench.send("data", column=["sex"], **{"role-0": "neutral", "type-0": "categorical"}) == (303, "")
    assert bench.page("recipe").count("without a look at the data") == 1  # which a type does not need


def test_a_note_tells_of_the_look_that_roles_were_changed_with(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system refuses the source when roles are changed, and gives it again just behind that."""
    bench = Bench(app)
    monkeypatch.setattr(data, "try_look", lambda place: (None, "It is gone."))
    assert bench.send("data", column=["sex"], **{"role-0": "neutral"}) == (303, "")
    assert "roles and types, without a look at the data" in bench.page("recipe")


def test_roles_are_not_changed_by_half_where_the_source_cannot_be_read_any_more(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise InputError("It is gone.")

    bench = Bench(app)
    monkeypatch.setattr(data, "apart_in_turn", lambda folder, do, *given: do(*given))
    monkeypatch.setattr(data, "draft_of", gone)  # behind the first look
    fields = {"role-0": "quasi", "role-1": "neutral", "role-2": "quasi", "role-3": "sensitive"}
    assert bench.send("data", column=["age", "sex", "zip", "illness"], **fields) == (422, "It is gone.")
    assert bench.space.version == 1


def test_a_model_on_several_columns_keeps_them(app: FastAPI) -> None:
    text = RECIPE.replace('["illness"]\n[[', '["illness", "zip"]\n[[').replace(', "zip"]\nsens', "]\nsens")
    bench = Bench(app, text + '[[models]]\nname = "distinct-l"\nl = 2\non = ["illness", "zip"]\n')
    assert '<option value="=" selected>the combination of illness and zip</option>' in bench.page("models")
    assert bench.send("models", name="distinct-l", place="1", on="=", **{"p-l": "3"}) == (303, "")
    assert tomllib.loads(bench.space.text)["models"][1] == {"name": "distinct-l", "l": 3, "on": ["illness", "zip"]}


def test_what_a_profile_promises_stands_on_the_page(app: FastAPI) -> None:
    bench = Bench(app, 'profile = "internal-analytics"\n' + RECIPE.replace('[[models]]\nname = "k"\nk = 5\n', ""))
    asked = bench.page("release").partition("The recipe promises:")[2].partition("</p>")[0]
    assert "nothing" not in asked
    assert "by its profile" in asked
    assert "nothing is promised" not in bench.page("models")


def test_people_are_counted_where_rows_are_of_people(app: FastAPI) -> None:
    bench = Bench(app, RECIPE.replace("sensitive", 'subject = "who"\nsensitive', 1))
    lines = people().splitlines()
    told = [f"{lines[0]},who", *(f"{line},{at // 2}" for at, line in enumerate([lines[1], *lines[1:]] * 2))]
    (bench.folder / "source" / "people.csv").write_text("\n".join(told) + "\n")
    place = Place(bench.folder, bench.space.text)
    top = class_counts(place, {"age": 9, "sex": 9, "zip": 9})
    assert top.people
    assert (top.rows, top.classes) == (61, 1)
    found = class_counts(place, {})
    risk = assessed(place.recipe, {}, lambda step: None)
    assert found.rows == risk["records"]
    assert found.alone == risk["class_sizes"].get("1", 0)
    assert "People alone" in bench.page("counts")
    assert risk_view(risk).figures[0].title == "People by how many look the same"


def test_nothing_ends_a_worker(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, stop, seen = worker_of(app), Event(), []

    def step() -> bool:
        seen.append(1)
        if len(seen) == 2:
            stop.set()
        raise ValueError("zyzzyva")

    monkeypatch.setattr(worker, "step", step)
    worker.run(stop)
    assert len(seen) == 2


def test_a_password_goes_with_a_name_for_whoever_keeps_passwords(app: FastAPI) -> None:
    page = sign_in(app, "researcher").get("/account").text
    assert '<input type="text" name="username" value="researcher" autocomplete="username" hidden>' in page
