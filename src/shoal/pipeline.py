"""From a table and models to a gated release. START HERE to see how the parts fit together.

An algorithm puts records in groups (or rewrites values), an engine counts them, a model judges the counts, a measure
prices the result, an attack tries what is not protected, and the verifier trusts none of them. A release that the gate
does not pass is never returned.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.catalogue import load
from shoal.data.domain import History
from shoal.data.keys import Keys
from shoal.data.rows import Rows
from shoal.data.table import Table, with_crowd
from shoal.engines.base import Engine
from shoal.grammar import as_list, as_made
from shoal.io.describe import describe
from shoal.io.evidence import frame_stamp, manifest_bytes
from shoal.io.gating import pass_gate, person_refusals, refuse_first, with_verdicts
from shoal.io.vouching import bring_terms
from shoal.models.base import Model, smallest_class
from shoal.models.feasibility import all_models, asked_items, refuse_beforehand, vacuous, whole_reference
from shoal.models.judge import Judge
from shoal.models.refusals import refuse_measured, refuse_misfits, refuse_unknown_codes
from shoal.models.suppression import enforce, other_references, split_verdicts
from shoal.recoding.coded_columns import pseudonymise, refuse_idle_key, refuse_uncodable
from shoal.recoding.exact import with_counterfeits
from shoal.recoding.items import with_items
from shoal.recoding.outcome import chosen, overlap_report
from shoal.recoding.publish import Output, Published, publish_tables
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.secrets import Secret, SecretKey, by_column
from shoal.reports.release import release_html
from shoal.results import Gated, Release
from shoal.risk.attacks.required import Measured, attack_release
from shoal.risk.before_after import risk_facts
from shoal.utility.base import every_score, release_facts
from shoal.utility.research_table import refuse_broken, research_facts, with_research
from shoal.utility.workload import preference_facts, with_preferences
from shoal.version import VERSION

T = TypeVar("T")
Given: TypeAlias = T | Mapping[str, Any] | str
Progress = Callable[[str], None]


def anonymize(
    table: Table,
    *,
    algorithm: Given[Algorithm] = "mondrian",
    models: Given[Model] | Sequence[Given[Model]] = (),
    seed: int | None = None,
    acknowledge: Collection[str] = (),
    suppressed: str = "drop",
    order: str = "shuffled",
    engine: str = "memory",
    neutral_limit: float = 0.05,
    keys: Keys | None = None,
    token_key: SecretKey | None = None,
    codes: Sequence[Secret] = (),
    history: History | None = None,
    date: datetime.date | str | None = None,
    review: Mapping[str, Any] | None = None,
    progress: Progress = lambda step: None,
) -> Release:
    """Anonymise a table and gate the result.

    Parameters
    ----------
    algorithm
        A configured algorithm, its name, or a mapping as a recipe has it: ``{"name": "optimal", "measure": "ncp"}``.
    models
        What every class must satisfy, one or several: ``KAnonymity(5)``, ``"k=5"``, or ``{"name": "k", "k": 5}``.
    seed
        Only for tests and papers; by default a fresh secret is drawn and kept in the evidence.
    acknowledge
        Warning codes accepted.
    token_key
        Tokens and date offsets follow from it, so that releases made with it can be joined; by default from fresh keys.
    codes
        Mappings and gradings of earlier releases (`Release.secrets`, or from a vault) to code later records with.
    history
        What earlier releases left of the rows' people (``Registry.history_of``), for the model ``m-invariance``.
    date, review
        What manifest and report are dated with (if nothing, the bytes are the same on any day), and say in your words.
    """
    output = Output(
        suppressed=suppressed, order=order, acknowledged=acknowledge, neutral_limit=neutral_limit,
        joinable=token_key is not None, same_codes=bool(codes), date=date, review=review or {},
    )  # fmt: skip
    method: Algorithm = as_made("algorithm", algorithm)
    refuse_unknown_codes(acknowledge)
    table = table if history is None else table.remembering(history)
    given = table.domain.research
    table = with_research(table, method.research, method.kind)
    wanted = all_models(table.domain, as_list("model", models), method)
    bring_terms(model.name for model in wanted)
    table = with_crowd(table, smallest_class(wanted))
    refuse_idle_key(table.schema, token_key)
    refuse_uncodable(table.domain, method.kind)
    run = Run(
        table=table, method=method, models=wanted, output=output, engine=load("engine", engine)(), seed=seed,
        keys=keys or Keys.from_seed(seed), token_key=token_key, codes=by_column(codes), progress=progress,
    )  # fmt: skip
    # What one algorithm was told of levels is not the table's, which another may be run on.
    return replace(made := run.release(), table=made.table.knowing(research=given))


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """One table on its way to a release: what is asked of it, and the steps."""

    table: Table
    method: Algorithm
    models: list[Model]
    output: Output
    engine: Engine
    keys: Keys
    seed: int | None
    token_key: SecretKey | None
    codes: Mapping[str, Secret]
    progress: Progress

    def release(self) -> Release:
        """Judge what is asked, recode, attack, describe and gate, in this order."""
        started, method, output, progress = time.perf_counter(), self.method, self.output, self.progress
        table, rows, judge = self.table, *self._opened(self.table)
        empty = vacuous(judge, method.share_allowed(table.n))
        refuse_beforehand(rows, judge, empty, output, method)
        refuse_first(person_refusals(table.domain, [table.kept], output.acknowledged, models=bool(self.models)))

        # A workload guides the algorithm alone: measures and gate see the table as it is.
        preferred = with_preferences(table)
        guided = rows if preferred is table else self.engine.open(preferred)
        recoding = method.run(self._problem(guided, judge))
        if recoding.counterfeits is not None:
            table, recoding = with_counterfeits(table, recoding)
            rows, judge = self._opened(table)

        progress("judging the classes")
        recoded = with_items(apply_recoding(rows, recoding), asked_items(judge))
        refuse_misfits(recoded, self.models, output.suppressed, method.kind)
        held = enforce(recoded, judge, method.share_allowed(table.n), method.limit_words, output.suppressed)
        released, keys_used = pseudonymise(held, self.keys, self.token_key, self.codes)
        refuse_broken(wanted := research_facts(released.price_stats()), method.name)
        published = publish_tables(released, self.keys, suppressed=output.suppressed, order=output.order)

        progress("attacking it")
        measured = attack_release(released, self.keys)
        refuse_measured(measured.telling, output.acknowledged)

        progress("checking every cell at the gate")
        manifest = describe(
            table.domain, self.models, version=VERSION, output=output, released=released, published=published,
            figures=measured.figures,
        )  # fmt: skip
        report = pass_gate(released, published, manifest, self.models, output)

        progress("measuring")
        evidence = {
            "secret": self.keys.secret,
            "seed": self.seed,
            "algorithm": method.parameters(),
            "models": [model.parameters() for model in self.models],
            **_facts(released, measured),
            **preference_facts(self.table, preferred),
            "research": wanted,
            **risk_facts(released, published),
            "split_verdicts": split_verdicts(released, judge),
            "other_references": other_references(released, judge),
            "vacuous": [{"model": model.parameters(), "on": list(on or ())} for model, on in empty],
            "seconds": time.perf_counter() - started,
        }
        return Release(
            gated=_gated(published, with_verdicts(manifest, report)),
            verdict=report.verdicts,
            checks=report.checks,
            evidence=evidence,
            released=released,
            table=table,
            source=_frozen(published.source),
            secrets=(*recoding.secrets, *keys_used),
        )

    def _problem(self, rows: Rows, judge: Judge) -> Problem:
        """What the method is given."""
        return Problem(rows=rows, judge=judge, keys=self.keys, codes=self.codes, progress=self.progress)

    def _opened(self, table: Table) -> tuple[Rows, Judge]:
        """The rows of a table, ready to be counted, and the models with what they compare classes with."""
        rows = self.engine.open(table)
        return rows, Judge(self.models, whole_reference(rows, self.models))


def _facts(released: Released, measured: Measured) -> dict[str, Any]:
    """What was found out about a release; private, since it tells about suppressed people too."""
    table = released.table
    priced = released.price_stats()
    return {
        **release_facts(released),
        "search": dict(released.recoding.notes),
        "chosen": chosen(released),
        "items": dict(released.items),
        "counts": {
            "read": table.n_read,
            "dropped": table.n_dropped,
            "suppressed": released.n_suppressed,
            "released": table.n - released.n_suppressed,
            "counterfeits": table.counterfeits,
            "classes": released.n_classes,
            "clusters": released.groups,
        },
        "measures": every_score(priced),
        "overlaps": overlap_report(released) if released.made.generalises else [],
        "attacks": list(measured.figures),
        "attack_notes": list(measured.notes),
    }


def _gated(published: Published, manifest: dict[str, Any]) -> Gated:
    """What the gate judged, put away: nothing that is handed out leads back to it."""
    tables = {"release": published.frame} | ({} if published.apart is None else {"sensitive": published.apart})
    return Gated(
        kept=MappingProxyType({name: frame.clone() for name, frame in tables.items()}),
        stamps=MappingProxyType({name: frame_stamp(frame) for name, frame in tables.items()}),
        manifest=manifest_bytes(manifest),
        report=release_html(manifest).encode(),
    )


def _frozen(rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    rows.setflags(write=False)
    return rows
