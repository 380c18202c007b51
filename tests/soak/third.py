"""A third opinion on k, l, t and alpha: pycanon's, in an interpreter of its own that has it.

Run as a script it is that interpreter's side: it reads one request a line and answers with pycanon's figures.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_CLOSE = 1e-6


class Pycanon:
    """Asks an interpreter that has pycanon, such as one made by ``python -m venv`` and ``pip install pycanon``."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen([python, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def figures(self, rows: list[dict[str, Any]], quasi: list[str], sensitive: str) -> dict[str, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"rows": rows, "quasi": quasi, "sensitive": sensitive}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def comparable(case: Any, manifest: dict[str, Any]) -> bool:
    """pycanon counts rows and knows neither unknown values nor groups that are not rows of equal cells."""
    return not case.people and case.missing != "value" and manifest["kind"] in ("generalised", "microaggregated")


def disagreements(case: Any, manifest: dict[str, Any], rows: list[dict[str, Any]], asked: Pycanon) -> list[str]:
    """Models that the recipe asked for and that do not hold by pycanon's figures."""
    found = []
    quasi = [name for name in rows[0] if name in case.quasi]
    for model in case.models:
        on = model.get("on", case.sensitive[0])
        if model["name"] not in _HOLDS or not isinstance(on, str) or case.columns[on].non_answers:
            continue
        if model["name"] == "t-closeness" and (model.get("reference") != "released" or case.columns[on].kind == "tree"):
            continue
        figures = asked.figures(rows, quasi, on)
        if not _HOLDS[model["name"]](model, figures):
            found.append(f"pycanon finds {model['name']} broken")
    return found


_HOLDS = {
    "k": lambda model, f: f["k"] >= model["k"],
    "distinct-l": lambda model, f: f["l"] >= model["l"],
    # pycanon cuts the entropy's l to a whole number.
    "entropy-l": lambda model, f: f["entropy_l"] >= int(model["l"] - _CLOSE),
    "alpha-k-general": lambda model, f: f["alpha"] <= model["alpha"] + _CLOSE and f["k"] >= model["k"],
    "p-sensitive": lambda model, f: f["l"] >= model["p"] and f["k"] >= model["k"],
    "t-closeness": lambda model, f: f["t"] <= model["t"] + _CLOSE,
}


def _serve() -> None:
    import pandas as pd
    from pycanon import anonymity

    for line in sys.stdin:
        asked = json.loads(line)
        frame = pd.DataFrame(asked["rows"])
        name = asked["sensitive"]
        numbers = pd.to_numeric(frame[name], errors="coerce")
        if numbers.notna().all():
            frame[name] = numbers
        quasi, sensitive = asked["quasi"], [name]
        alpha, k = anonymity.alpha_k_anonymity(frame, quasi, sensitive)
        figures = {
            "k": int(k),
            "alpha": float(alpha),
            "l": int(anonymity.l_diversity(frame, quasi, sensitive)),
            "entropy_l": int(anonymity.entropy_l_diversity(frame, quasi, sensitive)),
            # It divides by the number of values less one.
            "t": float(anonymity.t_closeness(frame, quasi, sensitive)) if frame[name].nunique() > 1 else 0.0,
        }
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    _serve()
