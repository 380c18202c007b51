"""Loukides: utility and protection of k-anonymisations, in two parts: trade-offs (TOC) and requirements (UPC)."""

from __future__ import annotations

from shoal_papers.base import Paper
from shoal_papers.loukides.examples import EXAMPLES
from shoal_papers.loukides.toc import ITEMS as TOC
from shoal_papers.loukides.upc import ITEMS as UPC

# Chapters 1 to 4, then Chapters 5 and 6.
PAPER = Paper(
    name="loukides",
    authors="Loukides",
    about="k-anonymisation with a trade-off between utility and protection, and with requirements on both",
    items=[EXAMPLES, *TOC, *UPC],
)
