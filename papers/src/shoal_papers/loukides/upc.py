"""Loukides, Chapters 5 and 6: UPC k-anonymisation, which guarantees utility and protection from range disclosure.

The experiments are in modules of their own: worked examples, UPC against TOC, against protection constrained methods
(census), against benchmarks (synthetic), what its parameters do, and run times.
"""

from __future__ import annotations

from shoal_papers.loukides.upc_census import CENSUS
from shoal_papers.loukides.upc_effect import EFFECT
from shoal_papers.loukides.upc_examples import EXAMPLES
from shoal_papers.loukides.upc_synthetic import SYNTHETIC
from shoal_papers.loukides.upc_time import TIME
from shoal_papers.loukides.upc_tradeoff import TRADE

ITEMS = [EXAMPLES, TRADE, *CENSUS, *SYNTHETIC, *EFFECT, *TIME]
