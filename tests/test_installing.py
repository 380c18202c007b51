"""Installation from a checkout: the choice of a compiler, what leads to a rebuild, and messages of failures."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("cat", "cksum", "grep", "ls", "rm", "sh")
PIP = """#!/bin/sh
echo "$@" >>called.txt
case "$*" in
    *" install "*) [ ! -e refused ] || { cat refused; exit 1; } ;;
    *" index "*) [ ! -e unreachable ] ;;
esac
"""


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load the build backend, as on a machine without a compiler."""
    pytest.importorskip("scikit_build_core")
    spec = importlib.util.spec_from_file_location("backend", ROOT / "native" / "backend.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make an installed checkout on a machine without a compiler, with a pip that only records its calls."""
    for name in ("pyproject.toml", "papers/pyproject.toml", "constraints.txt", "CMakeLists.txt", "native/backend.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for folder in ("bin", ".venv/bin", "src/shoal/kernels", "native/count"):
        (tmp_path / folder).mkdir(parents=True)
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / "bin" / tool).symlink_to(found)
    (tmp_path / "src/shoal/kernels/_native.abi3.so").touch()
    (tmp_path / "native/count/sets.cpp").write_text("int one;\n")
    python = tmp_path / ".venv/bin/python"
    python.write_text(PIP)
    python.chmod(0o755)
    (tmp_path / ".venv/pyvenv.cfg").write_text(f"command = python3 -m venv --clear {tmp_path}/.venv\n")
    assert sh(tmp_path, 'install ""').returncode == 0
    (tmp_path / "called.txt").unlink()
    return tmp_path


def sh(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(folder / "bin" / "sh"), "-euc", f". {ROOT}/scripts/environment.sh; {command}"],
        cwd=folder,
        env={"PATH": str(folder / "bin")},
        capture_output=True,
        text=True,
        check=False,
    )


def calls(checkout: Path) -> list[str]:
    """List what was asked of Python, other than its version."""
    path = checkout / "called.txt"
    return [line for line in path.read_text().splitlines() if line != "-V"] if path.exists() else []


def test_ziglang_is_required_only_without_a_compiler(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend.base, "get_requires_for_build_wheel", lambda settings: ["cmake"])
    assert backend.get_requires_for_build_editable() == ["cmake", "ziglang>=0.13"]
    monkeypatch.setenv("CXX", "icpx")
    assert backend.get_requires_for_build_wheel() == ["cmake"]


def test_a_build_without_any_compiler_stops_with_one_sentence(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(SystemExit, match=r"^Shoal needs a C\+\+ compiler .* g\+\+\), or .* ziglang, which has one\.$"):
        backend.build_wheel("")


def test_zig_is_found_in_a_folder_with_spaces(
    backend: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "my tables").mkdir()
    monkeypatch.chdir(tmp_path / "my tables")
    monkeypatch.setitem(sys.modules, "ziglang", sys)
    for name in ("CMAKE_ARGS", "CXX"):
        monkeypatch.setenv(name, "")
    backend._choose_compiler()
    first = shlex.split(os.environ["CMAKE_ARGS"])[0]
    assert Path(first.removeprefix("-DCMAKE_AR=")).is_file()


def test_a_folder_that_cannot_be_written_is_refused(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend.os, "access", lambda path, mode: False)
    for build in (backend.build_wheel, backend.build_editable):
        with pytest.raises(SystemExit, match=r"^Shoal is compiled in its own folder, and '.+' cannot be written"):
            build("")


def test_nothing_is_done_while_nothing_changed(checkout: Path) -> None:
    assert sh(checkout, 'install ""').stderr == ""
    assert calls(checkout) == []


@pytest.mark.parametrize("change", ["source", "pyproject", "module"])
def test_a_change_leads_to_another_installation(checkout: Path, change: str) -> None:
    if change == "source":
        (checkout / "native/count/sets.cpp").write_text("int two;\n")
    elif change == "pyproject":
        (checkout / "pyproject.toml").write_text("")
    else:
        (checkout / "src/shoal/kernels/_native.abi3.so").unlink()
    sh(checkout, 'install ""')
    assert calls(checkout)[-1].endswith("-e .")


@pytest.mark.parametrize("compiler", [False, True])
def test_no_index_is_said_in_one_sentence(checkout: Path, compiler: bool) -> None:
    (checkout / "refused").write_text("ERROR: Cannot install numpy>=2.0: versions have conflicting dependencies.\n")
    (checkout / "unreachable").touch()
    (checkout / "native/count/sets.cpp").write_text("int two;\n")
    if compiler:
        (checkout / "bin/c++").symlink_to(checkout / "bin/cat")
    done = sh(checkout, 'install ""')
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert ("There is no C++ compiler here" in said) is not compiler
    assert "pip reaches no package index: give " in said
    assert said.endswith("set PIP_FIND_LINKS to a folder with the packages of constraints.txt.")
    assert "ERROR" not in done.stderr


def test_an_interrupted_installation_is_not_taken_for_the_one_before(checkout: Path) -> None:
    source, before = checkout / "native/count/sets.cpp", (checkout / "native/count/sets.cpp").read_text()
    source.write_text("int two;\n")
    (checkout / "refused").write_text("interrupted\n")
    assert sh(checkout, 'install ""').returncode == 1
    (checkout / "refused").unlink()
    source.write_text(before)
    (checkout / "called.txt").unlink()
    sh(checkout, 'install ""')
    assert calls(checkout)[-1].endswith("-e .")


def test_an_environment_of_another_folder_is_made_anew(checkout: Path) -> None:
    (checkout / ".venv/pyvenv.cfg").write_text("command = python3 -m venv --clear /elsewhere/.venv\n")
    (checkout / "native/count/sets.cpp").write_text("int two;\n")
    assert "Making a virtual environment" in sh(checkout, 'find_python() { echo .venv/bin/python; }; install ""').stderr


def test_another_failure_of_pip_is_shown(checkout: Path) -> None:
    (checkout / "refused").write_text("ERROR: No space left on device\n")
    (checkout / "native/count/sets.cpp").write_text("int two;\n")
    done = sh(checkout, 'install ""')
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "ERROR: No space left on device")


def test_an_old_python_is_refused_in_one_sentence(checkout: Path) -> None:
    old = checkout / "bin" / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")  # what `usable` gets of one that is too old
    old.chmod(0o755)
    done = sh(checkout, "find_python")
    assert done.returncode == 1
    assert done.stderr.startswith("Shoal needs Python 3.11 or later with its venv module: install one")
    assert len(done.stderr.splitlines()) == 1


def test_requirements_of_all_extras_are_listed_by_name(checkout: Path) -> None:
    python = checkout / ".venv/bin/python"
    python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exec "{sys.executable}" "$@"\n' + PIP.partition("\n")[2])
    (checkout / "native/count/sets.cpp").write_text("int two;\n")
    assert sh(checkout, "install dev").returncode == 0
    packages = (checkout / ".venv/packages.txt").read_text().splitlines()
    assert {"numpy>=2.0", "pyspark>=4,<5", "cryptography", "pytest-xdist", "ziglang"} <= set(packages)
    assert not any(package.startswith("shoal") for package in packages)
    builds = [call for call in calls(checkout) if "--no-build-isolation" in call]
    assert len(builds) == 1
    assert "--no-deps" in builds[0]
