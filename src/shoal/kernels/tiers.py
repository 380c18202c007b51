"""Tiers of processors: code that is compiled for one serves every machine of it."""

from __future__ import annotations

import functools
import platform
import sys

from llvmlite import binding

# What a processor of each tier has, best first, by the names that LLVM gives them.
TIERS = {"x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"), "x86-64-v2": ("sse4.2", "popcnt")}


@functools.cache
def tier() -> str:
    """The best tier that this processor belongs to, or the one that every processor of its kind does."""
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # it cannot be told
        return "generic"
    return next((name for name, needs in TIERS.items() if all(map(features.get, needs))), "generic")


def compile_for_tier() -> dict[str, str]:
    """Settings of numba's, for processes that compile for all machines of this one's tier."""
    return {"NUMBA_CPU_NAME": tier(), "NUMBA_CPU_FEATURES": ""}


def served(numba: str) -> dict[str, str]:
    """What compiled kernels have to agree on with the process that loads them."""
    return {
        "numba": numba,
        "python": f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}{sys.abiflags}",
        "platform": binding.get_process_triple(),
        "processor": tier(),
    }
