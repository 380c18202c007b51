"""The build backend: scikit-build-core, with zig's C++ compiler from PyPI where no other compiler is installed."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

from scikit_build_core import build as base
from scikit_build_core.build import build_sdist, get_requires_for_build_sdist  # noqa: F401 - hooks that stay as they are

_COMPILERS = ("c++", "g++", "clang++")
_MISSING = (
    "Shoal needs a C++ compiler to build its kernels: install one (for example the package g++), or let pip download"
    " the package ziglang, which brings one."
)


def _has_compiler() -> bool:
    return bool(os.environ.get("CXX")) or any(shutil.which(name) for name in _COMPILERS)


def _with_zig(requires: list[str]) -> list[str]:
    return requires if _has_compiler() else [*requires, "ziglang>=0.13"]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """List what a build needs besides pyproject.toml's requirements."""
    return _with_zig(base.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """List what an editable build needs besides pyproject.toml's requirements."""
    return _with_zig(base.get_requires_for_build_editable(config_settings))


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        _use_compiler(Path(folder))
        return base.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build a wheel that refers to this checkout."""
    with tempfile.TemporaryDirectory() as folder:
        _use_compiler(Path(folder))
        return base.build_editable(wheel_directory, config_settings, metadata_directory)


def _use_compiler(folder: Path) -> None:
    """Point CMake to zig's compiler where there is no other, or stop."""
    if _has_compiler():
        return
    try:
        import ziglang  # noqa: F401
    except ImportError:
        raise SystemExit(_MISSING) from None
    # CMake wants programs, not commands with arguments.
    for name, command in (("CXX", "c++"), ("AR", "ar"), ("RANLIB", "ranlib")):
        script = folder / f"zig-{command}"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {command} "$@"\n', encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        os.environ[name] = str(script)
    defines = f"-DCMAKE_AR={os.environ['AR']} -DCMAKE_RANLIB={os.environ['RANLIB']}"
    os.environ["CMAKE_ARGS"] = f"{os.environ.get('CMAKE_ARGS', '')} {defines}".strip()
