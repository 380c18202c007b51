"""Numba code of native families, for kernels that are still numba themselves; deleted with the last of these."""
