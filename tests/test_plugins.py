"""What other distributions bring: found by entry points, loaded when asked for, and never able to break the rest."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

import shoal
from shoal import registry
from shoal.algorithms.base import Algorithm, Problem
from shoal.cli.main import execute
from shoal.errors import InputError, ParameterError
from shoal.recoding.kinds import RANDOMISED, Kind
from shoal.recoding.recodings import FullDomain
from shoal.registry import GROUPS, OURS

MEASURE = '''
from dataclasses import dataclass
from typing import ClassVar
from shoal.utility.base import Measure

@dataclass(frozen=True, kw_only=True)
class Mine(Measure):
    """A figure of mine.

    And more about it.
    """

    name: ClassVar[str] = "mine"

    def value(self, stats):
        return 0.25, {}
'''
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a distribution on the path: its version, entry points by group, and the code of its one module."""
    monkeypatch.syspath_prepend(tmp_path / "site")
    modules = []

    def put(distribution: str, points: dict[str, dict[str, str]], code: str = MEASURE, version: str = "1.5") -> None:
        module = distribution.replace("-", "_")
        info = tmp_path / "site" / f"{module}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n", "utf-8")
        lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in points.items()]
        (info / "entry_points.txt").write_text("\n".join(lines), "utf-8")
        (tmp_path / "site" / f"{module}.py").write_text(code, "utf-8")
        modules.append(module)
        registry._installed.cache_clear()

    yield put
    registry._installed.cache_clear()
    for module in modules:
        sys.modules.pop(module, None)


def run(*arguments: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = execute([str(one) for one in arguments])
    return code, out.getvalue(), err.getvalue()


def demo(folder: Path) -> tuple[int, str, str]:
    return run("demo", "-o", folder / "out", "--rows", 200)


@pytest.mark.parametrize("kind", GROUPS)
def test_a_name_is_listed_without_loading_its_code(kind: str, install: Install) -> None:
    install("shoal-mine", {GROUPS[kind]: {"mine": "shoal_mine:Mine"}}, "raise RuntimeError")
    assert "mine" in registry.names(kind)
    assert registry.origin(kind, "mine") == "shoal-mine 1.5"
    assert "shoal_mine" not in sys.modules


def test_built_ins_are_ours() -> None:
    for kind in ("algorithm", "model", "measure", "attack", "engine", "evaluation"):
        assert {registry.origin(kind, name) for name in registry.names(kind)} == {OURS}


def test_lists_say_where_a_name_comes_from(install: Install) -> None:
    install("shoal-mine", {"shoal.measures": {"mine": "shoal_mine:Mine"}})
    code, out, err = run("list", "measures", "--json")
    listed = {one["name"]: one for one in json.loads(out)["measures"]}
    assert (code, err) == (0, "")
    assert listed["mine"] == {"name": "mine", "summary": "A figure of mine.", "origin": "shoal-mine 1.5"}
    assert listed["lm"]["origin"] == OURS
    assert "shoal-mine 1.5" in run("list", "measures")[1]


def test_a_measure_of_a_plug_in_is_one_like_others(install: Install, tmp_path: Path) -> None:
    install("shoal-mine", {"shoal.measures": {"mine": "shoal_mine:Mine [extra]"}})
    assert demo(tmp_path)[0] == 0
    code, out, _ = run("measure", tmp_path / "out", "mine", "--json")
    assert (code, json.loads(out)["measures"]["mine"]["value"]) == (0, 0.25)


BROKEN = {
    "it raises": ("shoal_mine:Mine", "raise ValueError('Alice has the flu')", "ValueError in shoal_mine"),
    "it needs another library": ("shoal_mine:Mine", "import no_such_library", "ModuleNotFoundError in shoal_mine"),
    "it is no Python": ("shoal_mine:Mine", "def", "SyntaxError in shoal_mine"),
    "it ends the program": ("shoal_mine:Mine", "raise SystemExit(0)", "SystemExit in shoal_mine"),
    "it has no such module": ("shoal_other:Mine", "", "ModuleNotFoundError in shoal_other"),
    "it has no such class": ("shoal_mine:Yours", MEASURE, "AttributeError in shoal_mine"),
}
BROKEN = {key: (*given, f"cannot be loaded ({why})") for key, (*given, why) in BROKEN.items()} | {
    "it is called otherwise": ("shoal_mine:Mine", MEASURE.replace('"mine"', '"yours"'), "calls itself 'yours'"),
    "it is no class": ("shoal_mine:Mine", "Mine = len", "is no dataclass"),
    "it is no measure": (
        "shoal_mine:Mine", "from dataclasses import dataclass\n@dataclass\nclass Mine: pass",
        "is not derived from shoal.utility.base.Measure",
    ),
    "it cannot be run by its name alone": (
        "shoal_mine:Mine", MEASURE.replace("    def value", "    depth: int\n\n    def value"),
        "has no default for its parameter 'depth'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("target, code, why", BROKEN.values(), ids=list(BROKEN))
def test_one_that_does_not_load_breaks_nothing_else(
    target: str, code: str, why: str, install: Install, tmp_path: Path
) -> None:
    install("shoal-mine", {"shoal.measures": {"mine": target}}, code)
    sentence = f"The measure 'mine' of shoal-mine 1.5 {why}: repair or uninstall that distribution."
    status, out, err = run("list", "measures", "--json")
    names = [name for name in registry.names("measure") if name != "mine"]
    assert (status, [one["name"] for one in json.loads(out)["measures"]]) == (0, names)
    assert err == f"warning: {sentence}\n"
    assert demo(tmp_path)[::2] == (0, f"warning: {sentence}\n")
    assert run("measure", tmp_path / "out", "lm")[::2] == (0, "")
    with pytest.raises(InputError) as refused:
        registry.load("measure", "mine")
    assert (str(refused.value), refused.value.exit_code) == (sentence, 2)


@pytest.mark.parametrize(
    "ending, why",
    [
        ("raise ValueError('Alice has the flu')", "ValueError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("return 'Alice has the flu', {}", "TypeError"),
        ("return 0.25, {'beside': object()}", "TypeError"),
        ("return 0.25, {1: 0.25}", "TypeError"),
    ],
)
def test_a_measure_that_fails_stops_no_release(ending: str, why: str, install: Install, tmp_path: Path) -> None:
    install("shoal-mine", {"shoal.measures": {"mine": "shoal_mine:Mine"}}, MEASURE.replace("return 0.25, {}", ending))
    left_out = f"failed ({why}) and is left out: repair or uninstall that distribution."
    assert demo(tmp_path)[::2] == (0, f"warning: The measure 'mine' of shoal-mine 1.5 {left_out}\n")
    measured = json.loads(run("measure", tmp_path / "out", "--json")[1])["measures"]
    assert list(measured) == [name for name in registry.names("measure") if name != "mine"]


ATTACK = '''
from dataclasses import dataclass
from typing import ClassVar
from shoal.risk.attacks.base import Attack

@dataclass(frozen=True, kw_only=True)
class Mine(Attack):
    """An attack of mine."""

    name: ClassVar[str] = "mine"

    def run(self, case):
        raise ValueError("Alice has the flu")
'''


@pytest.mark.parametrize(
    "code, why",
    [
        (ATTACK, "failed (ValueError) and is left out"),
        (ATTACK.replace("raise ValueError", "return str"), "failed (TypeError) and is left out"),
        (ATTACK.replace("(Attack)", ""), "is not derived from shoal.risk.attacks.base.Attack"),
    ],
)
def test_an_attack_that_fails_stops_no_other(code: str, why: str, install: Install, tmp_path: Path) -> None:
    assert demo(tmp_path)[0] == 0
    status, alone, err = run("attack", tmp_path / "out", "--seed", 1, "--json")
    assert (status, err) == (0, "")
    install("shoal-mine", {"shoal.attacks": {"mine": "shoal_mine:Mine"}}, code)
    status, beside, err = run("attack", tmp_path / "out", "--seed", 1, "--json")
    assert (status, beside) == (0, alone)
    assert err == f"warning: The attack 'mine' of shoal-mine 1.5 {why}: repair or uninstall that distribution.\n"
    status, _, err = run("attack", tmp_path / "out", "--only", "mine")
    assert status != 0
    assert "Alice" not in err


def test_a_list_of_names_that_cannot_be_read_spoils_no_other(install: Install, tmp_path: Path) -> None:
    install("shoal-mine", {"shoal.measures": {"mine": "shoal_mine:Mine"}})
    install("stranger", {"console_scripts": {}})
    (tmp_path / "site" / "stranger-1.5.dist-info" / "entry_points.txt").write_text("[console_scripts]\nodd\n", "utf-8")
    status, out, err = run("list", "measures", "--json")
    sentence = "What stranger 1.5 brings cannot be read (TypeError): repair or uninstall that distribution."
    assert (status, err) == (0, f"warning: {sentence}\n")
    assert [one["origin"] for one in json.loads(out)["measures"] if one["name"] == "mine"] == ["shoal-mine 1.5"]
    assert len(registry.names("paper")) == 5


def test_a_distribution_that_does_not_say_its_name_has_none(install: Install, tmp_path: Path) -> None:
    install("shoal-mine", {"shoal.measures": {"mine": "shoal_mine:Mine"}})
    (tmp_path / "site" / "shoal_mine-1.5.dist-info" / "METADATA").unlink()
    assert registry.origin("measure", "mine") == "an unnamed distribution"


def test_one_that_does_not_load_is_refused_where_it_is_named(install: Install, tmp_path: Path) -> None:
    install("shoal-mine", {"shoal.models": {"mine": "shoal_mine:Mine"}}, "1 / 0")
    people = tmp_path / "people.csv"
    people.write_text("age,disease\n20,flu\n30,gout\n", "utf-8")
    given = ["--quasi", "age", "--sensitive", "disease", "--model", "mine=2"]
    code, _, err = run("anonymize", people, "-o", tmp_path / "out", *given)
    assert code == 2
    assert err == (
        "error: The model 'mine' of shoal-mine 1.5 cannot be loaded (ZeroDivisionError in shoal_mine): "
        "repair or uninstall that distribution.\n"
    )
    assert not (tmp_path / "out").exists()


def test_a_name_of_ours_cannot_be_taken(install: Install, tmp_path: Path) -> None:
    install("shoal-mine", {"shoal.measures": {"c-avg": "shoal_mine:Mine"}}, "raise RuntimeError")
    sentence = f"The measure 'c-avg' is claimed by both {OURS} and shoal-mine 1.5: uninstall one of the two."
    with pytest.raises(InputError) as refused:
        registry.load("measure", "c-avg")
    assert str(refused.value) == sentence
    assert "c-avg" not in registry.names("measure")
    assert demo(tmp_path)[::2] == run("list", "measures")[::2] == (0, f"warning: {sentence}\n")


def test_two_plug_ins_cannot_share_a_name(install: Install) -> None:
    install("shoal-yours", {"shoal.measures": {"mine": "shoal_yours:Mine"}}, version="2")
    install("shoal-mine", {"shoal.measures": {"mine": "shoal_mine:Mine"}, "shoal.attacks": {"mine": "shoal_mine:Mine"}})
    with pytest.raises(InputError, match=r"'mine' is claimed by both shoal-mine 1\.5 and shoal-yours 2: uninstall one"):
        registry.make("measure", {"name": "mine"})
    assert "mine" not in registry.names("measure")
    assert "mine" in registry.names("attack")


def test_a_program_cannot_take_the_name_of_a_plug_in(install: Install) -> None:
    install("shoal-mine", {"shoal.measures": {"mine": "shoal_mine:Mine"}})
    with pytest.raises(ParameterError, match="already registered"):
        registry.register("measure", "mine", "somewhere:Mine", "Mine.")


def test_an_unknown_name_may_be_that_of_a_plug_in(install: Install) -> None:
    install("shoal-mine", {"shoal.measures": {"largest-class": "shoal_mine:Mine"}}, "raise RuntimeError")
    with pytest.raises(ParameterError, match="Did you mean 'largest-class'"):
        registry.load("measure", "largest-clas")


def test_the_first_of_two_versions_on_the_path_counts(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("shoal-mine", {"shoal.measures": {"mine": "shoal_mine:Mine"}})
    older = tmp_path / "older" / "shoal_mine-1.0.dist-info"
    older.mkdir(parents=True)
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: shoal-mine\nVersion: 1.0\n", "utf-8")
    (older / "entry_points.txt").write_text("[shoal.measures]\nmine = shoal_mine:Mine\n", "utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path, str(older.parent)])
    registry._installed.cache_clear()
    assert registry.origin("measure", "mine") == "shoal-mine 1.5"
    assert registry.load("measure", "mine").name == "mine"


@dataclass(frozen=True, kw_only=True)
class Otherwise(Algorithm):
    """Says that it makes noise, for which no model is asked, and generalises."""

    name: ClassVar[str] = "otherwise"
    kind: ClassVar[Kind] = RANDOMISED

    def run(self, problem: Problem) -> FullDomain:
        return FullDomain(levels={"age": 1})


def test_an_algorithm_makes_the_kind_that_it_says() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "s": ["a", "b", "c", "d"]})
    tree = [[str(age), "*"] for age in frame["age"]]
    table = shoal.read(frame, quasi=["age"], sensitive=["s"], hierarchies={"age": tree})
    with pytest.raises(ParameterError, match="says that it makes randomised releases, and made a generalised one"):
        shoal.anonymize(table, algorithm=Otherwise(), seed=1)
