"""Each kind of leak, planted: nothing that was read and is not released stands in anything published."""

from __future__ import annotations

import ast
import io
import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.recoding.kinds import CODINGS, named
from shoal.registry import make, names
from shoal.release.gating import sayable
from shoal.release.write import read_tables
from shoal.results import Release
from shoal.verify.leaks import check_leaks
from shoal.verify.report import Check
from shoal.verify.wording import OURS
from tests.conftest import many

SOURCE = Path(shoal.__file__).parent
HIERARCHIES = {"born": {"dates": ["year", "decade"]}, "age": {"quantiles": [4, 2]}, "zip": {"prefix": [3, 1]}}


def people(n: int = 60) -> pl.DataFrame:
    """People of three decades, one of them alone in his; somebody without a postcode is left out."""
    rows = [
        {
            "name": f"Person Number{row:03}", "born": f"19{60 + row % 30}-0{1 + row % 9}-1{row % 10}",
            "age": 20 + row % 30, "zip": f"{100 + row % 3}{row % 10}{row % 7}", "height": 150.25 + row % 40,
            "disease": ("flu", "cold", "asthma")[row % 3], "visits": row % 4,
        }
        for row in range(n)
    ]  # fmt: skip
    odd = {"name": "Zebulon Quirk", "born": "1901-12-24", "age": 99, "zip": "99887", "height": 211.75,
           "disease": "kuru", "visits": 3}  # fmt: skip
    left = odd | {"name": "Ulla Leftout", "born": "1955-05-05", "age": 67, "zip": None, "disease": "gout"}
    return pl.DataFrame([*rows, odd, left])


def released(**more: Any) -> Release:
    table = shoal.read(
        people(), identifiers=["name"], quasi=["born", "age", "zip"], sensitive=["disease"], neutral=["visits"],
        drop=["height"], missing="drop", hierarchies=HIERARCHIES, settings={"zip": {"type": "categorical"}},
        name="ward",
    )  # fmt: skip
    return shoal.anonymize(
        table, algorithm=shoal.Optimal(suppression_limit=0.1), models=[shoal.KAnonymity(k=5)], seed=1,
        acknowledge=["W-UNMODELLED:disease", "W-NEUTRAL"], **more,
    )  # fmt: skip


@pytest.fixture(scope="module", params=["csv", "parquet"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, dict[str, bytes]]:
    release = released()
    folder = release.write(tmp_path_factory.mktemp("leaks") / "out", format=request.param)
    return release, {path.name: path.read_bytes() for path in folder.iterdir()}


def checked(release: Release, files: Mapping[str, bytes]) -> Check:
    read: dict[str, list[pl.Series]] = {}
    for name, column in release.rows.read_columns():
        read.setdefault(name, []).append(column)
    return check_leaks(files, read, sayable(release.table.domain, release.evidence["models"]))


def planted(files: Mapping[str, bytes], change: Any) -> dict[str, bytes]:
    manifest = json.loads(files["manifest.json"])
    change(manifest)
    return {**files, "manifest.json": json.dumps(manifest).encode()}


def entry(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    return next(column for column in manifest["columns"] if column["name"] == name)


def test_what_is_written_tells_nothing_else(case: tuple[Release, dict[str, bytes]]) -> None:
    release, files = case
    assert checked(release, files).passed
    text = b"".join(data for name, data in files.items() if not name.startswith("release")).decode()
    for value in ("1901", "99887", "Zebulon", "kuru", "211.75", "Leftout", "1955-05-05", "gout"):
        assert value not in text


def test_the_hierarchies_show_what_stands_in_the_cells(case: tuple[Release, dict[str, bytes]]) -> None:
    release, files = case
    manifest, frame = json.loads(files["manifest.json"]), release.frame
    for name in ("born", "age", "zip"):
        rows = entry(manifest, name)["hierarchy"]
        lowest = {next(label for label in row if label is not None) for row in rows}
        assert lowest - {"*"} == set(frame[name].to_list()) - {"*"}
    assert entry(manifest, "born")["builder"] == {"dates": ["year", "decade"]}
    assert entry(manifest, "zip")["builder"] == {"prefix": [3, 1], "mask": "*"}
    assert "whole" not in entry(manifest, "born")


LEAKS = {
    "a leaf of somebody suppressed": lambda m: entry(m, "born")["hierarchy"].append(
        ["1901-12-24", "1901", "1900s", "*"]
    ),
    "a postcode of somebody suppressed": lambda m: entry(m, "zip")["hierarchy"].append(
        ["99887", "998**", "9****", "*"]
    ),
    "an extreme of the input": lambda m: entry(m, "age").update(domain=["20", "99"]),
    "an extreme as a number": lambda m: entry(m, "age").update(domain=[20, 99]),
    "an extreme under a name of its own": lambda m: m.update(highest=211.75),
    "an edge of quantiles": lambda m: entry(m, "age")["hierarchy"].append([None, "[50,99]", None, "*"]),
    "a value as a key": lambda m: m.update({"Zebulon Quirk": 1}),
    "a value in a sentence": lambda m: m["not_protected"].append("Nor is Zebulon Quirk protected."),
    "a disease in a sentence": lambda m: m["not_protected"].append("Counts of kuru are exact."),
    "a date in a sentence": lambda m: m.update(statement="5-anonymous since 1901-12-24"),
    "a value of a row left out": lambda m: m["not_protected"].append("gout is not protected."),
    "a name in a hierarchy": lambda m: entry(m, "zip").update(note="Zebulon Quirk"),
    "a value in a model": lambda m: m["models"][0].update(value="kuru"),
    "a range of somebody suppressed": lambda m: entry(m, "disease").update(
        policy={"sets": [["kuru"]], "else": "value"}
    ),
    "an order that was observed": lambda m: entry(m, "disease").update(order=["flu", "kuru"]),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_in_the_manifest_is_found(case: tuple[Release, dict[str, bytes]], leak: str) -> None:
    release, files = case
    found = checked(release, planted(files, LEAKS[leak]))
    assert not found.passed
    assert "'manifest.json' tells" in found.detail
    assert not re.search("Zebulon|kuru|1901|99887|211|gout", found.detail)


def test_an_entry_that_stands_there_twice_is_found(case: tuple[Release, dict[str, bytes]]) -> None:
    release, files = case
    twice = files["manifest.json"].replace(b'"kind":', b'"kind": "Zebulon Quirk", "kind":', 1)
    assert not checked(release, {**files, "manifest.json": twice}).passed


@pytest.mark.parametrize(
    "text",
    [
        "<!-- 99 -->", "<!-- kuru -->", "<p>Zebulon Quirk</p>", "<p title='99887'>a row</p>", "<p>born 1901-12-24</p>",
        "<script>x = '1901-12-24'</script>", "<p>ages up to 99</p>", "<?php kuru ?>",
    ],
)  # fmt: skip
def test_a_leak_on_the_page_is_found(case: tuple[Release, dict[str, bytes]], text: str) -> None:
    release, files = case
    found = checked(release, {**files, "report.html": files["report.html"] + text.encode()})
    assert not found.passed
    assert "'report.html' tells" in found.detail


def test_another_file_is_searched_too(case: tuple[Release, dict[str, bytes]]) -> None:
    release, files = case
    assert checked(release, {**files, "notes.txt": b"Made for the ward."}).passed
    assert not checked(release, {**files, "notes.txt": b"seen: kuru, once"}).passed


def arrow(files: Mapping[str, bytes]) -> pa.Table:
    return pq.read_table(io.BytesIO(files["release.parquet"]))


def rewritten(table: pa.Table, **options: Any) -> bytes:
    target = io.BytesIO()
    pq.write_table(table, target, **options)
    return target.getvalue()


def leaking_parquet(files: Mapping[str, bytes], kind: str) -> bytes:
    data = files["release.parquet"]
    table = arrow(files)
    if kind == "metadata of the schema":
        return rewritten(table.replace_schema_metadata({"pandas": '{"index": ["Zebulon Quirk"]}'}))
    if kind == "categories that no row has":
        names = pa.DictionaryArray.from_arrays(
            pa.array([0] * table.num_rows, pa.int32()), pa.array([table["disease"][0].as_py(), "kuru"])
        )
        return rewritten(table.set_column(table.schema.get_field_index("disease"), "disease", names))
    if kind == "statistics of the input":
        value = max(table["disease"].to_pylist()).encode()
        assert data.count(value) > 1
        at = data.rindex(value)  # the footer's largest value
        return data[:at] + b"kuru".ljust(len(value), b"x")[: len(value)] + data[at + len(value) :]
    return data + b"kuru"


@pytest.mark.parametrize(
    "kind", ["metadata of the schema", "categories that no row has", "statistics of the input", "bytes at the end"]
)
def test_a_leak_in_a_parquet_file_is_found(tmp_path: Path, kind: str) -> None:
    release = released()
    folder = release.write(tmp_path / "out", format="parquet")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    found = checked(release, {**files, "release.parquet": leaking_parquet(files, kind)})
    assert not found.passed
    assert not re.search("Zebulon|kuru", found.detail)


@pytest.mark.parametrize(
    "model, column",
    [
        ({"name": "alpha-k-simple", "alpha": 0.9, "k": 5, "value": "kuru", "on": "disease"}, {}),
        ({"name": "alpha-k-complete", "alpha": {"kuru": 0.5}, "default": 0.9, "k": 5, "on": "disease"}, {}),
        ({"name": "k", "k": 20}, {"type": "ordinal", "order": ["flu", "cold", "asthma", "kuru", "gout"]}),
        ({"name": "k", "k": 20}, {"non_answers": ["kuru"]}),
    ],
)
def test_what_the_recipe_declares_may_be_said(tmp_path: Path, model: dict[str, Any], column: dict[str, Any]) -> None:
    table = shoal.read(
        people(), identifiers=["name"], quasi=["age"], sensitive=["disease"], drop=["born", "zip", "height", "visits"],
        settings={"disease": column},
    )  # fmt: skip
    release = shoal.anonymize(
        table, algorithm=shoal.Mondrian(suppression_limit=0.2), models=[make("model", model)], seed=1,
        acknowledge=["W-UNMODELLED:disease"],
    )  # fmt: skip
    frames, _ = read_tables(release.write(tmp_path / "out"))
    assert frames["release"].height > 30


@pytest.mark.parametrize("value", ["blood", "pressure", "Blood pressure", "ward", "north ward"])
def test_words_of_names_are_no_values(tmp_path: Path, value: str) -> None:
    """A dropped column may hold a word of a column's or the source's name, which the manifest says."""
    ages, found = [20 + row % 9 for row in range(36)], ["high", "low", "fine"] * 12
    frame = pl.DataFrame({"age": ages, "blood pressure": found, "kind": [value] * 36})
    table = shoal.read(frame, quasi=["age"], sensitive=["blood pressure"], drop=["kind"], name="north ward")
    release = shoal.anonymize(
        table, algorithm=shoal.Mondrian(k=4), seed=1, acknowledge=["W-UNMODELLED:blood pressure"]
    )
    assert (release.write(tmp_path / "out") / "manifest.json").exists()


def words(text: str) -> set[str]:
    return set(re.findall(r"[0-9]+(?:[.,][0-9]+)+|[^\W_]+", text.lower()))


def literals(path: Path) -> list[str]:
    """Texts of a module that are no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    kinds = ast.Module | ast.FunctionDef | ast.ClassDef
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, kinds)]
    notes = {id(one.value) for one in first if isinstance(one, ast.Expr)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in notes]
    return [node.value for node in found if isinstance(node.value, str)]


@pytest.mark.parametrize(
    "module",
    [
        "release/manifest.py", "reports/release.py", "reports/words.py", "risk/attacks/required.py",
        "risk/attacks/gaps.py", "risk/attacks/randomised.py", "risk/attacks/bucketised.py", "risk/attacks/decoding.py",
        "utility/posterior.py",
    ],
)  # fmt: skip
def test_our_words_are_known(module: str) -> None:
    unknown = {word for text in literals(SOURCE / module) for word in words(text)} - OURS
    assert not unknown, f"add to verify/wording.py: {' '.join(sorted(unknown))}"


def test_the_words_of_kinds_are_known() -> None:
    kinds = [named(name) for name in names("kind")]
    said = [text for kind in kinds for text in (kind.name, kind.exact or "", kind.known, kind.remark)]
    said += [text for kind in kinds for text in kind.not_protected]
    said += [text or "" for one in CODINGS.values() for text in (one.name, one.words, one.not_protected, one.joinable)]
    unknown = {word for text in said for word in words(text)} - OURS
    assert not unknown, f"add to verify/wording.py: {' '.join(sorted(unknown))}"


def test_the_words_of_the_page_are_known() -> None:
    assert words((SOURCE / "reports/templates/release.html.jinja").read_text("utf-8")) <= OURS


def dated(seed: int, day: str, **more: Any) -> Release:
    """Ages of up to 31 and years of birth, a few people of each suppressed, released with a date."""
    rng = random.Random(seed)
    rows = [{"age": rng.randint(1, 12), "born": rng.randint(1990, 1999), "s": rng.choice("xyz")} for _ in range(40)]
    rows += [{"age": int(day[8:]), "born": int(day[:4]), "s": "x"}, {"age": int(day[5:7]), "born": 1800, "s": "y"}]
    table = shoal.read(pl.DataFrame(rows), quasi=["age", "born"], sensitive=["s"], name="ward")
    return shoal.anonymize(
        table, algorithm=shoal.Mondrian(suppression_limit=0.3), models=[shoal.KAnonymity(k=4)], seed=seed,
        acknowledge=["W-UNMODELLED:s"], date=day, **more,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(many(6, 60)))
def test_the_date_of_the_recipe_is_no_value_of_a_record(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    day = f"20{rng.randint(20, 40)}-{rng.randint(1, 12):02}-{rng.randint(13, 28)}"
    release = dated(seed, day)
    folder = release.write(tmp_path / "out")
    assert f"dated <span>{day}</span>." in (folder / "report.html").read_text()
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    if day[8:] in {part for cell in release.frame["age"].to_list() for part in re.split(r"\D+", cell)}:
        return
    for text in (f"<p>ages up to {int(day[8:])}</p>", f"<p>{day[8:]} on {day}</p>", f"<!-- {int(day[8:])} -->"):
        found = checked(release, {**files, "report.html": files["report.html"] + text.encode()})
        assert "'report.html' tells" in found.detail, text


def test_texts_of_the_publisher_are_no_values_of_a_record(tmp_path: Path) -> None:
    said = {"title": "Ward 13", "contact": "room 27", "recipients": ["27"], "re_evaluation": "2027-05-27"}
    release = dated(1, "2026-11-27", review=said)
    files = {path.name: path.read_bytes() for path in release.write(tmp_path / "out").iterdir()}
    assert not checked(release, {**files, "report.html": files["report.html"] + b"<p>ages of 27</p>"}).passed


def test_no_number_may_be_said_without_a_reason(case: tuple[Release, dict[str, bytes]]) -> None:
    """The number of sets of quasi-identifiers may, where there are any."""
    release, _ = case
    assert "0" not in sayable(release.table.domain, release.evidence["models"]).declared[""]
