"""The entry point: exit codes, what loads, and the small grammars of options."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.cli import run as run_module
from shoal.cli.console import clean, figure, model_label, plain
from shoal.cli.main import main
from shoal.errors import ParameterError
from shoal.grammar import pairs, parse_hierarchy, parse_model, split_columns, typed_value
from shoal.registry import VERSION
from tests.cli.conftest import PATIENTS, recipe_text

HEAVY = {"polars", "plotly", "narwhals", "pandas", "pyarrow", "numpy"}
COMMANDS = ["demo", "check", "explore", "values", "run", "anonymize", "verify", "audit", "risk", "measure", "list"]


def test_version(shoal) -> None:
    assert shoal("--version").out == f"shoal {VERSION}\n"


def test_help_is_the_map(shoal) -> None:
    result = shoal("--help")
    assert result.code == 0
    assert all(command in result.out for command in COMMANDS)
    assert "Exit codes" in result.out
    assert "Usage" in shoal().out


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import json, sys\n"
        "from shoal.cli.main import execute\n"
        f"for command in {COMMANDS}:\n"
        "    assert execute([command, '--help']) == 0\n"
        "assert execute(['--help']) == 0 and execute(['list', 'measures']) == 0\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 0, done.stderr
    assert not HEAVY & set(json.loads(done.stderr.splitlines()[-1]))


def loaded_by(*arguments: str) -> set[str]:
    """Modules that a command has loaded when it ends."""
    code = (
        "import json, sys\n"
        "from shoal.cli.main import execute\n"
        f"assert execute({list(arguments)}) == 0\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_only_the_command_that_is_called_is_loaded() -> None:
    loaded = loaded_by("list", "models", "--json")
    assert "shoal.cli.data" in loaded
    assert not {f"shoal.cli.{name}" for name in ("anonymize", "run", "vault")} & loaded


def test_a_run_in_memory_loads_nothing_for_other_runs(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PATIENTS, "utf-8")
    roles = 'identifiers = ["name"]\nquasi = ["age", "sex", "zip"]'
    (tmp_path / "recipe.toml").write_text(recipe_text(roles, k=2), "utf-8")
    loaded = loaded_by("run", str(tmp_path / "recipe.toml"))
    assert "shoal.release.run" in loaded
    assert not {"narwhals", "shoal.streaming", "shoal.risk.attacks.run", "shoal.utility.evaluate"} & loaded


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(run_module.__file__).parents[2]), "TERM": "dumb"}


def test_the_module_runs_as_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "shoal.cli.main", "run", str(tmp_path / "nowhere.toml")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_main_ends_with_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["list", "models", "--json"])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["models"]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["lst"], "Did you mean 'list'?"),
        (["run"], "RECIPE"),
        (["run", "--nonsense", "x"], "--nonsense"),
        (["list", "fish"], "fish"),
        (["demo", "--rows", "many"], "--rows"),
        (["anonymize", "x.csv"], "--output"),
    ],
)
def test_usage_errors(shoal, arguments: list[str], expected: str) -> None:
    result = shoal(*arguments)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert expected in result.err
    data = shoal(*arguments, "--json")
    assert (data.code, data.err, data.json["error"]["type"]) == (2, "", "UsageError")


def broken(error: BaseException):
    def steps():
        raise error

    return steps


def test_a_fault_of_our_own_leaks_nothing(shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "steps", broken(ValueError("Anna has flu")))
    result = shoal("run", "recipe.toml")
    expected = "error: internal: ValueError; rerun with SHOAL_DEBUG=1 for the traceback\n"
    assert (result.code, result.out, result.err) == (1, "", expected)
    data = shoal("run", "recipe.toml", "--json")
    assert (data.code, data.json["error"]["type"]) == (1, "ValueError")
    assert "Anna" not in data.out
    monkeypatch.setenv("SHOAL_DEBUG", "1")
    assert "Traceback" in shoal("run", "recipe.toml").err


def test_interruption_is_quiet(shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "steps", broken(KeyboardInterrupt()))
    result = shoal("run", "recipe.toml")
    assert (result.code, result.out, result.err) == (130, "", "")


def test_so_is_one_that_compiled_code_tells_of(shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    error = SystemError("a kernel returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    monkeypatch.setattr(run_module, "steps", broken(error))
    result = shoal("run", "recipe.toml")
    assert (result.code, result.out, result.err) == (130, "", "")


def test_a_reader_that_goes_away_is_no_success(shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "steps", broken(BrokenPipeError(32, "Broken pipe")))
    assert shoal("run", "recipe.toml").code == 141


def test_an_operating_system_error_is_bad_input(shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "steps", broken(PermissionError(13, "Permission denied", "secret.csv")))
    result = shoal("run", "recipe.toml")
    assert (result.code, result.err) == (2, "error: 'secret.csv' cannot be used: Permission denied.\n")


def test_progress_names_the_step_on_a_terminal(shoal, census: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    result = shoal("verify", census / "out", "--json")
    assert "deriving every verdict again" in result.err
    assert result.json["passed"] is True


@pytest.mark.parametrize(
    "text, expected",
    [
        ("k=5", {"name": "k", "k": 5}),
        ("entropy-l=3 on occupation", {"name": "entropy-l", "l": 3, "on": "occupation"}),
        ("recursive-cl c=2 l=2", {"name": "recursive-cl", "c": 2, "l": 2}),
        (
            "t-closeness=0.3 distance=equal on a, b",
            {"name": "t-closeness", "t": 0.3, "distance": "equal", "on": ["a", "b"]},
        ),
        ('distinct-l=2 on "main diagnosis"', {"name": "distinct-l", "l": 2, "on": "main diagnosis"}),
        ("distinct-l=2 on main diagnosis", {"name": "distinct-l", "l": 2, "on": "main diagnosis"}),
        (
            'alpha-k-simple=0.5 k=3 value="lung cancer" on d',
            {"name": "alpha-k-simple", "alpha": 0.5, "k": 3, "value": "lung cancer", "on": "d"},
        ),
        ("alpha-k-complete={flu=0.5} k=3", {"name": "alpha-k-complete", "alpha": {"flu": 0.5}, "k": 3}),
    ],
)
def test_models_as_text(text: str, expected: dict) -> None:
    assert parse_model(text) == expected


@pytest.mark.parametrize("text", ["", "k=", "k=5 k=6", "entropy-l=3 on", 'k="5', "k=5 six", "nonsense=5"])
def test_models_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ParameterError):
        parse_model(text)


def test_values_as_text() -> None:
    assert [typed_value(text) for text in ("5", "0.5", "true", "lm", "[1, 2]", "2020-01-01", "1\nx = 2")] == [
        5, 0.5, True, "lm", [1, 2], "2020-01-01", "1\nx = 2",
    ]  # fmt: skip
    assert parse_hierarchy("zip.csv") == "zip.csv"
    assert parse_hierarchy("{prefix=[4, 3]}") == {"prefix": [4, 3]}
    assert split_columns('a, "b,c" ,d') == ["a", "b,c", "d"]
    assert pairs("--set", ["a = 1", "b=x=y"]) == {"a": "1", "b": "x=y"}
    for wrong in (lambda: split_columns("a,,b"), lambda: pairs("--set", ["a"]), lambda: pairs("--set", ["a=1", "a=2"])):
        with pytest.raises(ParameterError):
            wrong()


def test_figures_and_labels() -> None:
    assert [figure(x) for x in (None, float("nan"), float("inf"), 5, 1234567.0, 0.123456789)] == [
        "-", "-", "∞", "5", "1,234,567", "0.123457",
    ]  # fmt: skip
    assert plain({"a": float("inf"), "b": (1, float("nan"))}) == {"a": None, "b": [1, None]}
    assert model_label({"name": "alpha-k-simple", "alpha": 0.5, "k": 3, "value": "flu", "on": "d"}) == (
        "alpha-k-simple alpha=0.5 k=3"
    )
    assert clean("a\x1b[31mb\nc") == "a [31mb c"
