"""``shoal report``: where it writes, what it refuses, and what stays private."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.cli.main import execute
from tests.cli.conftest import PATIENTS, SECRETS, Result, recipe_text

Shoal = Callable[..., Result]
REVIEW = '[review]\npurpose = "Teaching"\nthreshold = 0.5\nlegal_basis = "consent"\n'
ROLES = 'identifiers = ["name"]\nquasi = ["age", "sex", "zip"]'
RECIPE = recipe_text(ROLES, k=2, source='path = "patients.csv"', more=REVIEW)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe and its release; not to be changed."""
    folder = tmp_path_factory.mktemp("released")
    (folder / "patients.csv").write_text(PATIENTS, "utf-8")
    (folder / "recipe.toml").write_text(RECIPE, "utf-8")
    assert execute(["run", str(folder / "recipe.toml"), "--json"]) == 0
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, released: Path) -> Path:
    """A copy of it to work in."""
    shutil.copytree(released, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mode(path: str) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_a_private_page_is_its_owners(place: Path, shoal: Shoal) -> None:
    for audience in ("internal", "regulator"):
        found = shoal("report", "out", "--audience", audience, "-o", f"{audience}.html")
        assert (found.code, found.out) == (0, f"Private, not for publication: {audience}.html\n")
        assert mode(f"{audience}.html") == 0o600
        page = Path(f"{audience}.html").read_text("utf-8")
        assert "Private: not for publication." in page
        assert "consent" in page
        for name in SECRETS[:3]:
            assert name not in page


def test_the_external_page_is_the_public_report(place: Path, shoal: Shoal) -> None:
    shutil.rmtree("out.evidence")  # which it does without
    assert shoal("report", "out", "--audience", "external", "-o", "external.html").code == 0
    assert Path("external.html").read_bytes() == Path("out/report.html").read_bytes()
    for name in ("external.md", "external.json"):
        assert shoal("report", "out", "--audience", "external", "-o", name).code == 0
        assert "consent" not in Path(name).read_text("utf-8")
        assert "Teaching" in Path(name).read_text("utf-8")


def test_formats(place: Path, shoal: Shoal) -> None:
    assert shoal("report", "out", "-o", "dossier.md").code == 0
    assert Path("dossier.md").read_text("utf-8").startswith("# Release")
    found = shoal("report", "out", "-o", "dossier.json", "--format", "json", "--json")
    assert found.json["private"] is True
    assert json.loads(Path("dossier.json").read_bytes())["audience"] == "internal"


def test_what_attacks_found_may_be_given(place: Path, shoal: Shoal) -> None:
    Path("attacks.json").write_text(shoal("attack", "recipe.toml", "--hold-out", "0", "--json").out, "utf-8")
    assert shoal("report", "out", "-o", "dossier.md", "--attacks", "attacks.json").code == 0
    assert "95 % interval" in Path("dossier.md").read_text("utf-8")


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["out", "-o", "dossier.pdf"], "ends in nothing that a dossier is written as: name it .html, .md or .json."),
        (["out", "-o", "dossier.md", "--format", "html"], "must end in .html: choose another name."),
        (["out", "-o", "out/dossier.html"], "lies inside a release, which is public: choose another place."),
        (["out", "-o", "kept.html"], "exists: choose another name, or --replace it."),
        (["nowhere", "-o", "dossier.html"], "holds no manifest.json: name the folder of a release."),
        (["copy", "-o", "dossier.html"], "holds no evidence.json: name the evidence folder of a release."),
        (["out", "-o", "dossier.html", "--attacks", "recipe.toml"], "give what the command printed with --json."),
        (["out", "-o", "dossier.html", "--audience", "press"], "'press' is not one of"),
    ],
)
def test_refusals(place: Path, shoal: Shoal, arguments: list[str], sentence: str) -> None:
    Path("kept.html").write_text("mine", "utf-8")
    shutil.copytree("out", "copy")
    found = shoal("report", *arguments)
    assert found.code == 2
    assert sentence in " ".join(found.err.split())
    assert not Path("dossier.html").exists()
    assert Path("kept.html").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    "option, given, sentence",
    [
        ("--attacks", {"attacks": ["x"]}, "are not as they were printed"),
        ("--attacks", {"attacks": [{"figures": [{"name": "a"}]}]}, "are not as they were printed"),
        ("--evaluations", {"evaluations": [{"name": "a"}]}, "are not as they were printed"),
        ("--attacks", {"attacks": [], "statement": "9-anonymous"}, "of a release that promises something else than"),
    ],
)
def test_results_that_are_damaged_or_of_another_release_are_refused(
    place: Path, shoal: Shoal, option: str, given: dict[str, object], sentence: str
) -> None:
    statement = json.loads(Path("out/manifest.json").read_text("utf-8"))["statement"]
    Path("given.json").write_text(json.dumps({"statement": statement, **given}), "utf-8")
    found = shoal("report", "out", "-o", "dossier.html", option, "given.json")
    assert found.code == 2
    assert sentence in " ".join(found.err.split())
    found = shoal("report", "out", "-o", "dossier.html", "--audience", "external", option, "given.json")
    assert "Those outside are told what the manifest says" in " ".join(found.err.split())


def test_evidence_of_another_release(place: Path, shoal: Shoal) -> None:
    Path("recipe.toml").write_text(RECIPE.replace('"out"', '"other"').replace("seed = 1", "seed = 2"), "utf-8")
    assert shoal("run", "recipe.toml").code == 0
    shutil.rmtree("out.evidence")
    shutil.copytree("other.evidence", "out.evidence")
    found = shoal("report", "out", "-o", "dossier.html")
    assert found.code == 2
    assert "is that of another release" in found.err


def test_a_profile_stands_in_the_dossier(place: Path, shoal: Shoal) -> None:
    Path("recipe.toml").write_text(RECIPE.replace("threshold = 0.5", ""), "utf-8")
    found = shoal("run", "recipe.toml", "--profile", "internal-analytics", "--replace")
    assert found.code == 2
    assert "The 'k' of the model 'k' is 2, and the profile 'internal-analytics' asks for at least 3" in found.err
    Path("recipe.toml").write_text(RECIPE.replace("k = 2", "k = 4").replace("threshold = 0.5", ""), "utf-8")
    assert shoal("run", "recipe.toml", "--profile", "internal-analytics", "--replace").code == 0
    assert shoal("report", "out", "-o", "dossier.md").code == 0
    text = Path("dossier.md").read_text("utf-8")
    assert "Internal analytics (internal-analytics)" in text
    assert "still personal data" in text
    assert "The release keeps to its threshold: 0.25 against ≤ 0.334." in text.replace("\\", "")
    assert {one["name"] for one in shoal("list", "profiles", "--json").json["profiles"]} >= {"public-use", "ema-0070"}
