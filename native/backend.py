"""The build backend: scikit-build-core, with the C++ compiler of the package ziglang where no other is installed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from scikit_build_core import build as base
from scikit_build_core.build import *  # noqa: F403 - hooks that stay as they are

_MODULE = re.compile(r"shoal/kernels/_native\..*(so|pyd)")


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """List what a build needs besides pyproject.toml's requirements."""
    return base.get_requires_for_build_wheel(config_settings) + _list_compilers()


get_requires_for_build_editable = get_requires_for_build_wheel


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build a wheel."""
    _require_writable()
    _choose_compiler()
    return base.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build kernels into src/shoal/kernels, and a wheel that adds src to Python's path.

    scikit-build-core's own editable wheels look modules up before PYTHONPATH does, which hides other copies of Shoal.
    """
    _require_writable()
    Path("build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="build") as folder:
        name = build_wheel(folder, config_settings)
        with zipfile.ZipFile(Path(folder, name)) as wheel:
            (module,) = (entry for entry in wheel.namelist() if _MODULE.fullmatch(entry))
            wheel.extract(module, folder)
        # Replaced and not overwritten: a running process may have loaded the earlier module.
        os.replace(Path(folder, module), Path("src", module))
    Path("build/shoal.pth").write_text(f"{Path('src').absolute()}\n", encoding="utf-8")
    return base.build_editable(wheel_directory, config_settings, metadata_directory)


def _require_writable() -> None:
    """Stop where objects cannot be kept in the folder build."""
    if not os.access(".", os.W_OK):
        raise SystemExit(f"Shoal is compiled in its own folder, and '{Path.cwd()}' cannot be written: copy it first.")


def _list_compilers() -> list[str]:
    """List the packages to download for want of a compiler."""
    if os.environ.get("CXX") or any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        return []
    return ["ziglang>=0.13"]


def _choose_compiler() -> None:
    """Point CMake to zig's compiler where there is no other, or stop."""
    if not _list_compilers():
        return
    try:
        import ziglang  # noqa: F401
    except ImportError:
        raise SystemExit(
            "Shoal needs a C++ compiler to build its kernels: install one (for example the package g++), or let pip"
            " download the package ziglang, which has one."
        ) from None
    # CMake wants programs, not commands with arguments.
    folder = Path("build/zig").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    programs = {}
    for command in ("c++", "ar", "ranlib"):
        programs[command] = folder / command
        script = f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {command} "$@"\n'
        programs[command].write_text(script, encoding="utf-8")
        programs[command].chmod(0o755)
    # zig's linker cannot put the choice between clones of a function into a shared library.
    defines = [f"-DCMAKE_AR={programs['ar']}", f"-DCMAKE_RANLIB={programs['ranlib']}"]
    given = shlex.join([*defines, "-DCMAKE_CXX_FLAGS=-DSHOAL_NO_CLONES"])
    os.environ |= {"CXX": str(programs["c++"]), "CMAKE_ARGS": f"{os.environ.get('CMAKE_ARGS', '')} {given}".strip()}
