"""The build backend: scikit-build-core, with the C++ compiler of the package ziglang where no other is installed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from scikit_build_core import build as base
from scikit_build_core.build import *  # noqa: F403 - hooks that stay as they are


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """List what a build needs besides pyproject.toml's requirements."""
    return base.get_requires_for_build_wheel(config_settings) + _list_compilers()


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """List what an editable build needs besides pyproject.toml's requirements."""
    return base.get_requires_for_build_editable(config_settings) + _list_compilers()


def build_wheel(*arguments: Any) -> str:
    """Build a wheel."""
    _choose_compiler()
    return base.build_wheel(*arguments)


def build_editable(*arguments: Any) -> str:
    """Build a wheel that refers to this checkout."""
    _choose_compiler()
    return base.build_editable(*arguments)


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
        programs[command].write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {command} "$@"\n', encoding="utf-8")
        programs[command].chmod(0o755)
    defines = f"-DCMAKE_AR={programs['ar']} -DCMAKE_RANLIB={programs['ranlib']}"
    os.environ |= {"CXX": str(programs["c++"]), "CMAKE_ARGS": f"{os.environ.get('CMAKE_ARGS', '')} {defines}".strip()}
