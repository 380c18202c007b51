"""Files of sensitive ranges: one line a value, ``value;low;high`` or ``value;label``."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.data.policies import VALUE
from shoal.errors import PolicyError


def load_policy(column: str, given: Any, base: Path | None) -> Any:
    """A policy with the file it names, if it names one, read in its place."""
    if isinstance(given, Mapping) and "ranges" in given:
        return {**given, "ranges": load_policy(column, given["ranges"], base)}
    if isinstance(given, Path) or (isinstance(given, str) and given != VALUE):
        return {"each": read_ranges(Path(given) if base is None else base / given, column)}
    return given


def read_ranges(path: Path, column: str) -> list[list[str]]:
    """The lines of a policy file: UTF-8, semicolons between fields, no header; blank lines are skipped."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=";", strict=True)
            rows = [[field.strip() for field in row] for row in reader if row and row != [""]]
    except OSError as error:
        raise PolicyError(
            f"The policy file '{path}' of '{column}' cannot be read ({error.strerror}): check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise PolicyError(f"The policy file '{path}' of '{column}' is not UTF-8 text: save it as UTF-8.") from error
    except csv.Error as error:
        raise PolicyError(f"The policy file '{path}' of '{column}' has a quote that is not closed: mend it.") from error
    if not rows:
        raise PolicyError(f"The policy file '{path}' of '{column}' is empty: give one line a value.")
    return rows
