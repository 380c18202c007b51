"""From a source that need not fit into memory to a gated release on disk: `pipeline` for rows that an engine keeps.

The steps are those of :class:`shoal.pipeline.Run`. What differs is that nobody ever holds all rows: the search looks at
the frequency table, rows are published batch by batch, and the gate sees each batch, beside the rows that it comes
from, before it is written.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.partitioned import grouped_in_parts
from shoal.data.keys import Keys
from shoal.data.table import crowded
from shoal.engines.external_rows import KeptRows, Publisher, StoredBatch
from shoal.engines.prefetch import ahead, begun
from shoal.engines.store import StoredRows
from shoal.errors import GateError, InputError
from shoal.io.describe import describe, inferred_types, uncoded_columns, whole_hierarchies, whole_policies
from shoal.io.evidence import manifest_bytes, row_bytes
from shoal.io.gating import naming, person_refusals, refuse_failed, refuse_first, with_verdicts
from shoal.io.growing import Growing
from shoal.io.sayable import sayable
from shoal.io.vouching import bring_terms
from shoal.models.base import Model, smallest_class
from shoal.models.feasibility import all_models, refuse_beforehand, vacuous, whole_reference
from shoal.models.judge import Judge
from shoal.models.refusals import refuse_measured, refuse_misfits, refuse_unknown_codes
from shoal.models.suppression import enforce, other_references, split_verdicts
from shoal.pipeline import Progress
from shoal.recoding.coded_columns import pseudonymise, refuse_idle_key, refuse_uncodable
from shoal.recoding.kinds import Trait
from shoal.recoding.outcome import chosen, overlap_report
from shoal.recoding.publish import Output, Publishing, group_name
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import Recoding
from shoal.recoding.secrets import Secret, SecretKey
from shoal.recoding.snap import declared_steps, grids
from shoal.reports.release import release_html
from shoal.results import Written
from shoal.risk.attacks.base import AttackFigure
from shoal.risk.before_after import counted_facts
from shoal.streaming.attacking import SAMPLE, Attacked, attack_stream
from shoal.streaming.given import Given, person_frames
from shoal.streaming.grouped import Buckets
from shoal.streaming.held import refuse_unheld
from shoal.streaming.showing import Showing
from shoal.utility.base import every_score, release_facts
from shoal.utility.research_table import refuse_broken, research_facts, researched
from shoal.verify.gate import Gate
from shoal.verify.leaks import Leaks
from shoal.verify.report import Batch, Setting
from shoal.verify.staged import check_staged
from shoal.version import VERSION

# Bytes that a run may take where nobody says.
MEMORY = 4 << 30


@dataclass(frozen=True, eq=False, kw_only=True)
class Stream:
    """One open source on its way to a written release.

    Attributes
    ----------
    memory
        Bytes that it may take.
    token_key
        What tokens and offsets of dates follow from; by default fresh keys.
    codes
        Mappings and gradings that are given, by column.
    """

    rows: KeptRows
    method: Algorithm
    models: Sequence[Model]
    output: Output
    keys: Keys
    seed: int | None
    progress: Progress
    memory: int = MEMORY
    token_key: SecretKey | None = None
    codes: Mapping[str, Secret] = field(default_factory=dict)

    def prepared(self) -> tuple[KeptRows, Judge]:
        """The rows with all that is known before a search, and the models with what they compare classes with."""
        rows, method = self.rows, self.method
        rows = rows.knowing(researched(rows.domain, rows.joined, method.research, method.kind))
        models = all_models(rows.domain, self.models, method)
        bring_terms(model.name for model in models)
        refuse_idle_key(rows.domain.schema, self.token_key)
        refuse_uncodable(rows.domain, method.kind)
        rows = rows.knowing(crowded(rows.domain, smallest_class(models), rows.people_with))
        return rows, Judge(models, whole_reference(rows, models))

    def searched(self, rows: KeptRows, judge: Judge) -> Recoding:
        """What the method makes of the rows: of their frequency table, or part by part."""
        problem = Problem(rows=rows, judge=judge, keys=self.keys, codes=self.codes, progress=self.progress)
        method = self.method
        if not isinstance(rows, StoredRows):
            if method.by_cells(rows.domain):
                self._refuse_too_many_cells(rows)
            return method.run(problem)
        most = rows.most(self.memory)
        # Cells take what rows take, where they are grouped as these are.
        few = min(most, rows.most_cells(self.memory))
        if method.by_cells(rows.domain) and (not method.in_parts or rows.holds_cells(few)):
            self._refuse_too_many_cells(rows)
            return method.run(problem)
        if method.in_parts:
            return grouped_in_parts(method, problem, rows, most)
        self._refuse_too_many(rows, f"The algorithm '{method.name}'")
        return method.run(replace(problem, rows=rows.fetched(None, judge.attributes)))

    def _refuse_too_many(self, rows: KeptRows, what: str) -> None:
        """Refuse what looks at all records at once where memory does not hold them."""
        n = rows.domain.n
        if isinstance(rows, StoredRows) and n > rows.most(self.memory):
            raise InputError(
                f"{what} looks at all records at once as it is set here, and {n:,} of them need "
                f"{rows.needed(n) / 1e9:.1f}GB: give 'memory' under [engine] as much, or use an algorithm such as "
                "'optimal' or 'mondrian' and models of class sizes and values."
            )

    def _holds_cells(self, rows: KeptRows) -> bool:
        """Whether memory holds the frequency table."""
        return rows.holds_cells(rows.most_cells(self.memory))

    def _refuse_too_many_cells(self, rows: KeptRows) -> None:
        """Refuse a frequency table that memory does not hold."""
        if not self._holds_cells(rows):
            count = rows.n_cells()
            parts = isinstance(rows, StoredRows)
            other = "a method that goes part by part, such as 'mondrian'" if parts else "the engine 'duckdb'"
            raise InputError(
                f"The algorithm '{self.method.name}' searches the frequency table, and its {count:,} combinations "
                f"need, with the values in them, {rows.cells_needed(count) / 1e9:.1f}GB: give 'memory' under [engine] "
                f"as much, code these columns more coarsely, or use {other}."
            )

    def judged(self) -> Judged:
        """Search, recode and judge the classes: all that does not need the rows one by one."""
        started, method, output = time.perf_counter(), self.method, self.output
        refuse_unknown_codes(output.acknowledged)
        rows, judge = self.prepared()
        refuse_unheld(rows, self.memory)
        models = judge.models
        empty = vacuous(judge, method.share_allowed(rows.domain.n))
        refuse_beforehand(rows, judge, empty, output, method)
        self.progress("looking for people with several rows")
        refuse_first(person_refusals(rows.domain, person_frames(rows), output.acknowledged, models=bool(models)))
        recoding = self.searched(rows, judge)
        if judge.needs_breaches:
            self._refuse_too_many(rows, "The model 'personalised'")
        self.progress("judging the classes")
        recoded = apply_recoding(rows, recoding)
        refuse_misfits(recoded, models, output.suppressed, method.kind)
        held = enforce(recoded, judge, method.share_allowed(rows.domain.n), method.limit_words, output.suppressed)
        released, secrets = pseudonymise(held, self.keys, self.token_key, self.codes)
        wanted = research_facts(released.price_stats())
        refuse_broken(wanted, method.name)
        attacked = self._attacked(released, rows)
        evidence = {
            "secret": self.keys.secret,
            "seed": self.seed,
            "algorithm": method.parameters(),
            "models": [model.parameters() for model in models],
            "search": dict(released.recoding.notes),
            "chosen": chosen(released),
            "items": dict(released.items),
            "counts": _counts(released, rows),
            **release_facts(released),
            "measures": every_score(attacked.measurable.price_stats()),
            "overlaps": overlap_report(released) if released.made.generalises else [],
            "attacks": list(attacked.measured.figures),
            "attack_notes": [*attacked.measured.notes, *attacked.notes],
            "research": wanted,
            **counted_facts(released, cells=self._holds_cells(rows)),
            "split_verdicts": split_verdicts(released, judge),
            "other_references": other_references(released, judge),
            "vacuous": [{"model": model.parameters(), "on": list(on or ())} for model, on in empty],
            "seconds": time.perf_counter() - started,
        }
        released.forget()
        rows.forget()
        # What one algorithm was told of levels is not the source's.
        kept = rows.knowing(replace(rows.domain, research=self.rows.domain.research))
        return Judged(
            rows=kept, released=released, models=models, output=output, evidence=evidence, progress=self.progress,
            keys=self.keys, figures=attacked.measured.figures, secrets=(*recoding.secrets, *secrets),
        )  # fmt: skip

    def _attacked(self, released: Released, rows: KeptRows) -> Attacked:
        """What attacks find, after refusing what nobody accepted."""
        self.progress("attacking it")
        most = rows.most(self.memory) if isinstance(rows, StoredRows) else SAMPLE
        found = attack_stream(released, rows, self.keys, most)
        refuse_measured(found.measured.telling, self.output.acknowledged)
        return found


def _counts(released: Released, rows: KeptRows) -> dict[str, int]:
    return {
        "read": rows.known.n_read,
        "dropped": rows.known.n_read - rows.domain.n,
        "suppressed": released.n_suppressed,
        "released": rows.domain.n - released.n_suppressed,
        "counterfeits": 0,
        "classes": released.n_classes,
        "clusters": released.groups,
    }


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """A release whose classes hold, before its rows are published."""

    rows: KeptRows
    released: Released
    models: Sequence[Model]
    output: Output
    evidence: Mapping[str, Any]
    progress: Progress
    keys: Keys
    figures: Sequence[AttackFigure] = ()
    secrets: Sequence[Secret] = ()

    def fill(self, folder: Path, *, format: str, formulas: str) -> Written:
        """Write data, manifest and report into an empty folder, each row gated before it is written."""
        data = Growing(folder / f"release.{format}", self.rows.private("judged"), formulas)
        values = Growing(folder / f"sensitive.{format}", self.rows.private("judged-values"), formulas)
        public, found = self.gated(data.add, values.add, lambda: data.judged)
        entry = data.finish(values.finish() if values.rows else None)
        self.progress("reading back what was written")
        page = release_html(public).encode()
        (folder / "report.html").write_bytes(page)
        public |= {
            "data": entry,
            "report": {"file": "report.html", "sha256": hashlib.sha256(page).hexdigest()},
        }
        (folder / "manifest.json").write_bytes(manifest_bytes(public))
        said = {name: (folder / name).read_bytes() for name in ("manifest.json", "report.html")}
        leaks = Leaks(said, sayable(self.released.public_domain, self.evidence["models"]))
        given = {"release": data.given} | ({"sensitive": values.given} if values.rows else {})
        with ThreadPoolExecutor(1, "shoal-again") as pool:
            # One writes them anew while the other reads them; where either fails, what has begun is waited for.
            alone = [pool.submit(one.refuse_more) for one in (data, *([values] if values.rows else []))]
            try:
                check_staged(folder, given, see=leaks.see, ahead=ahead)
                for one in alone:
                    one.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        self._refuse_leaks(leaks)
        counted = {"formulas": data.formulas + values.formulas} if format == "csv" and formulas == "keep" else {}
        types = data.judged.collect_schema().dtypes()
        return replace(found, manifest=public, evidence={**found.evidence, **counted}, types=types)

    def gated(
        self,
        add: Callable[[pl.DataFrame], None],
        add_values: Callable[[pl.DataFrame], None] = lambda frame: None,
        judged: Callable[[], pl.LazyFrame] = pl.LazyFrame,
    ) -> tuple[dict[str, Any], Written]:
        """Publish all rows batch by batch, each seen by the gate before it is added to anything.

        Parameters
        ----------
        add, add_values
            Are given the released rows, and the sensitive values that stand in a table of their own.
        judged
            Gives the released rows that were added, of a release whose sensitive values are shuffled.

        Returns
        -------
        tuple of dict and Written
            The manifest, without what only writing can tell, and what was found.
        """
        domain, output = self.rows.domain, self.output
        manifest = describe(
            domain, self.models, version=VERSION, output=output, released=self.released,
            published=Showing(self.rows, self.released, self._group), figures=self.figures,
        )  # fmt: skip
        gate, placing = Gate(self._setting(manifest)), self.rows.placing(self.released.classmap)
        publisher = Publisher(
            classes=placing, publishing=Publishing(self.released, output.suppressed),
            drop=output.suppressed == "drop", columns=domain.columns, rewriting=self.released.rewriting,
        )  # fmt: skip
        seen, given, buckets = 0, Given(self.rows, self.released), self._buckets(publisher)
        found = self.rows.published(publisher, output.order) if buckets is None else buckets.published()
        # Rows are put in the order of the release while the gate reads them in that of the source.
        with begun(given.beside(found)) as published:
            digest = self._input_read(gate, given, placing)
            for released in published:
                gate.see(released)
                add(released.released)
                seen += released.released.height
                self.progress(f"checking and writing: {seen:,} rows")
        if buckets is not None:
            for batch, classes, frame in buckets.valued(judged()):
                rows = given.rows_of(batch, classes)
                gate.see_values(Batch(released=frame, source=batch.rows, rows=rows), apart=buckets.apart)
                if buckets.apart:
                    add_values(frame)
        report = gate.report()
        refuse_failed(report)
        public = json.loads(manifest_bytes(with_verdicts(manifest, report)))
        evidence = {**self.evidence, "input_hash": digest}
        return public, Written(manifest=public, verdict=report.verdicts, checks=report.checks, evidence=evidence)

    def _input_read(self, gate: Gate, given: Given, placing: Callable[[StoredBatch], np.ndarray]) -> str:
        """Show the gate all rows of the source; gives their keyed hash, by each different value once."""
        digest = hmac.new(self.evidence["secret"], digestmod=hashlib.sha256)
        for values in self.rows.known.ordered.values():
            digest.update(row_bytes(values.to_frame()))
        for batch, told in ahead((batch, row_bytes(batch.ranked)) for batch in self.rows.batches("kept")):
            gate.read(given.rows_of(batch, placing(batch) if given.represented else None))
            digest.update(told)
            self.progress(f"reading for the gate: {int(batch.rows[-1]) + 1:,} of {self.rows.domain.n:,} rows")
        return digest.hexdigest()

    @property
    def _group(self) -> str | None:
        """Name of the column of group numbers, None where there are no groups."""
        return group_name(self.rows.domain.types) if self.released.made.has(Trait.GROUPS) else None

    def _buckets(self, publisher: Publisher) -> Buckets | None:
        """Who publishes sensitive values by group, None where they stand beside their records."""
        if self._group is None:
            return None
        assert isinstance(self.rows, StoredRows)  # others were refused before
        return Buckets(
            rows=self.rows, released=self.released, publisher=publisher, keys=self.keys, order=self.output.order
        )  # fmt: skip

    def refuse_telling(self, manifest: Mapping[str, Any], released: Iterable[pl.DataFrame]) -> None:
        """Refuse a manifest that tells what was read and is not among the released rows."""
        terms = sayable(self.released.public_domain, self.evidence["models"])
        leaks = Leaks({"manifest.json": manifest_bytes(manifest)}, terms)
        for frame in released:
            leaks.see(frame)
        self._refuse_leaks(leaks)

    def _setting(self, manifest: Mapping[str, Any]) -> Setting:
        domain, public = self.rows.domain, self.released.public_domain
        dropped = self.released.n_suppressed
        return Setting(
            manifest=dict(manifest),
            suppressed=self.rows.suppressed(self.released.classmap) if dropped else np.zeros(0, dtype=np.int64),
            n_read=self.rows.known.n_read,
            n_dropped=self.rows.known.n_read - domain.n,
            neutral_limit=self.output.neutral_limit,
            acknowledged=sorted(self.output.acknowledged),
            uncoded=uncoded_columns(self.released, self.models),
            hierarchies=whole_hierarchies(public),
            policies=whole_policies(public),
            grids=grids(public),
            steps=declared_steps(domain),
            inferred=inferred_types(domain),
            left_out=self.rows.left_out(naming(domain.schema)),
            across_classes=domain.schema.across_classes,
            population=None if domain.population is None else domain.population.frame,
            population_counts=None if domain.population is None else domain.population.counts,
        )

    def _refuse_leaks(self, leaks: Leaks) -> None:
        """Refuse files that tell what was read and is not released."""
        known = self.rows.known
        for name, column in [*known.plain.items(), *known.parsed.items(), *known.dropped.items()]:
            leaks.read(name, column)
        if known.subjects is not None:
            leaks.read(self.rows.domain.schema.subject or "", known.subjects)
        for others in self.rows.others():
            for series in others.get_columns():
                leaks.read(series.name, series)
        check = leaks.report()
        if not check.passed:
            raise GateError(f"The gate refused the release, so nothing is written: {check.detail}")
