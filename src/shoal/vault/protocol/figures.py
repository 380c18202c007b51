"""Figures that stand beside a rule: counts, support, confidence, lift, as Weka, scikit-learn and R write them."""

from __future__ import annotations

import math
import re

from shoal.vault.forms import NUMBER
from shoal.vault.protocol.statements import Figure

_NAMES = {
    "rows": ("n", "count", "counts", "rows", "records", "instances", "size", "supported", "samples"),
    "covered": ("covered", "covers"),
    "right": ("right", "correct", "hits"),
    "wrong": ("wrong", "errors", "misclassified", "loss"),
    "support": ("support", "supp", "sup"),
    "coverage": ("coverage",),
    "confidence": ("confidence", "conf", "accuracy", "precision", "probability", "prob"),
    "error": ("error", "err"),
    "lift": ("lift",),
}
_SHARES = ("support", "coverage", "confidence", "lift")
_CALLED = {word: name for name, words in _NAMES.items() for word in words}
_WORDS = "|".join(sorted(_CALLED, key=len, reverse=True))
_NAMED = re.compile(
    rf"<?(?<![\w.])(?P<name>{_WORDS})\b\s*(?:[:=]|\bis\b|\bof\b)?\s*\(?\s*(?P<number>{NUMBER})\s*(?P<percent>%)?\s*\)?>?",
    re.I,
)
# Behind a leaf or a rule of Weka's: rows that it covers, and those of them that it is wrong about.
_LEAF = re.compile(r"\(\s*(?P<covered>\d+(?:\.\d+)?)(?:/(?P<wrong>\d+(?:\.\d+)?))?\s*\)\s*$")
_NUMBERS = re.compile(rf"\[?(?<![\w.])({NUMBER})(?![\w.%])\]?")


def called(word: str) -> str | None:
    """What a word means, such as ``conf`` confidence; None where it is no figure's name."""
    return _CALLED.get(word.strip().lower())


def figure(name: str, text: str, column: str | None = None) -> Figure:
    """A figure as it is written: it may be off by half of its last digit, within reason; infinite is no figure."""
    percent = text.strip().endswith("%")
    text = text.strip().rstrip("% ")
    number = float(text)
    if not math.isfinite(number):  # 1e400, which is near to anything
        return Figure("confidence" if name == "error" else name, math.nan, 0.0, column)
    mantissa, _, power = text.lower().partition("e")
    slack = 0.5 * 10.0 ** (max(-300, min(300, int(power[:6] or 0))) - len(mantissa.partition(".")[2]))
    if percent:
        number, slack = number / 100.0, slack / 100.0
    if name == "error":
        name, number = "confidence", 1.0 - number
    elif name == "support" and number > 1.0:
        name = "rows"
    # Written as 0, 1 or 0e9 it is still no figure that any number of rows would bear out.
    widest = 0.05 * max(1.0, abs(number)) if name == "mean" else 0.05 if name in _SHARES else 0.5
    return Figure(name, number, min(slack, widest) + 1e-9 * max(1.0, abs(number)), column)


def named_figures(text: str) -> tuple[list[Figure], str]:
    """Figures with their names (``support = 0.3``, ``<conf:(0.83)>``, ``n = 12``), and what is left of the text."""
    found = [
        figure(_CALLED[one["name"].lower()], one["number"] + (one["percent"] or "")) for one in _NAMED.finditer(text)
    ]
    return found, _NAMED.sub(lambda one: " " * len(one[0]), text)


def leaf_figures(text: str) -> tuple[list[Figure], str]:
    """``(120.0/3.0)`` at the end of a text, and what is left of it."""
    found = _LEAF.search(text)
    if found is None:
        return [], text
    made = [figure("covered", found["covered"])]
    if found["wrong"] is not None:
        made.append(figure("wrong", found["wrong"]))
    return made, text[: found.start()]


def listed_figures(text: str, names: list[str]) -> tuple[list[Figure], str]:
    """Bare numbers in the order of a header, as arules prints them: support, confidence, coverage, lift, count."""
    numbers = [one[1] for one in _NUMBERS.finditer(text)]
    if not names:
        by_length = {3: "support confidence lift", 4: "support confidence lift rows", 2: "support confidence"}
        names = by_length.get(len(numbers), "support confidence coverage lift rows").split()
    if not numbers or len(numbers) > len(names):
        return [], text
    return [figure(name, one) for name, one in zip(names, numbers, strict=False)], _NUMBERS.sub(" ", text)
