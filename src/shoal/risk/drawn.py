"""What drawing a sample does to the risk of being found: little to whoever is known to be in it, much to all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.data.domain import Domain
from shoal.recoding.publish import Published
from shoal.recoding.recoded import Released
from shoal.results import Risk
from shoal.risk.beside import before_and_after, counted_before_and_after

_FOUND, _AMONG = "prosecutor-max", "journalist-max"


def risk_facts(released: Released, published: Published) -> dict[str, Any]:
    """The risk before and after, and of a sample what it does to it."""
    found = before_and_after(released, published)
    return {"risk": found, **drawn_facts(released.domain, found)}


def counted_facts(released: Released, *, cells: bool) -> dict[str, Any]:
    """The same where an engine keeps the rows."""
    found = counted_before_and_after(released, cells=cells)
    return {"risk": found, **drawn_facts(released.domain, found)}


def drawn_facts(domain: Domain, risk: Mapping[str, Any]) -> dict[str, Any]:
    """Of a sample: what drew how much of how much, and the largest risks with it; nothing where all rows take part.

    Parameters
    ----------
    risk
        The figures before and after, of which those after are looked at.

    Private: how many rows the source has, and which part of them, is no declared parameter where a number is drawn.
    """
    sample = domain.sample
    if sample is None:
        return {}
    after, what = risk["after"], "people" if sample.people else "rows"
    chance = sample.drawn / sample.source
    known: Risk | None = after.get(_FOUND)
    counted: Risk | None = after.get(_AMONG)
    told = [f"{sample.drawn:,} of {sample.source:,} {what} were drawn ({chance:.2%})."]
    if known is not None:
        told.append(
            f"Whoever knows that a person was drawn (prosecutor) finds that person with up to {known.value:.2%}: "
            "sampling does not lower that."
        )
        told.append(
            "Whoever knows only that a person is in the source finds that person with up to "
            f"{known.value * chance:.2%}, since being drawn has a chance of {chance:.2%}."
        )
    told.append(
        f"Whoever picks somebody of the population (journalist) is right with up to {counted.value:.2%}."
        if counted is not None
        else "No population is known: give the whole source as one, and the journalist's risk is counted in it."
    )
    # A table may be released several times: what drew its rows must not order them, or the orders would be one.
    return {
        "sample_secret": sample.keys.secret,
        "sample": {
            "of": what, "source": sample.source, "drawn": sample.drawn, "chance": chance, "strata": sample.strata,
            "share": sample.sampling.share, "number": sample.sampling.number, "by": list(sample.sampling.by),
            "prosecutor": None if known is None else known.value,
            "in_source": None if known is None else known.value * chance,
            "journalist": None if counted is None else counted.value, "told": told,
        }
    }  # fmt: skip
