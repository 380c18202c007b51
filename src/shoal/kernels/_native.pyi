"""Compiled kernels, written in C++ under native/. Modules beside this one document and call them."""

from typing import Any

def __getattr__(name: str) -> Any: ...
