"""Loukides: utility and protection of k-anonymisations, in two parts: trade-offs (TOC) and requirements (UPC)."""

from __future__ import annotations

from shoal.papers.base import Paper
from shoal.papers.loukides.examples import EXAMPLES
from shoal.papers.loukides.toc import ITEMS as TOC
from shoal.papers.loukides.upc import ITEMS as UPC

# Chapters 1 to 4, then Chapters 5 and 6.
PAPER = Paper(
    name="loukides",
    authors="Loukides",
    about="k-anonymisation with a trade-off between utility and protection, and with requirements on both",
    items=[EXAMPLES, *TOC, *UPC],
)
