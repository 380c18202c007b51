"""Whether boundaries that analysts need are still there in the cells of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shoal.data.workload import Axis, sides
from shoal.errors import ParameterError
from shoal.evaluation.base import Evaluation, Finding
from shoal.evaluation.view import Feature, Reading
from shoal.params import nearest


@dataclass(frozen=True, kw_only=True)
class Boundaries(Evaluation):
    """Share of released cells that lie wholly on one side of a boundary.

    Parameters
    ----------
    boundaries
        By column, as in a workload: values x ("below x" and "x and above"), labels of a hierarchy, or lists of values.
    """

    name: ClassVar[str] = "boundaries"
    boundaries: Mapping[str, Sequence[Any]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.boundaries, Mapping):
            raise ParameterError("The 'boundaries' of an evaluation must be a table of a list a column.")

    def refusal(self, reading: Reading) -> str | None:
        """Without boundaries there is nothing to look for, and in columns published as codes they mean nothing."""
        if not self.boundaries:
            return "no boundaries were named"
        lost = [name for name in self.boundaries if name in reading.left_out]
        return f"column '{lost[0]}' is published as codes" if lost else None

    def run(self, reading: Reading) -> list[Finding]:
        """One finding: the mean over boundaries, each beside it."""
        shares: dict[str, float] = {}
        for name, values in self.boundaries.items():
            if name not in reading.features:
                near = nearest(name, reading.features)
                hint = f"did you mean '{near}'?" if near else f"there are {', '.join(reading.features)}."
                raise ParameterError(f"A boundary is on '{name}', which is not a column of the release: {hint}")
            for value in values:
                shares[f"{name} {value}"] = kept_share(reading.features[name], value)
        mean = float(np.mean(list(shares.values())))
        sentence = f"{mean:.1%} of the released cells lie wholly on one side of a boundary that was asked for."
        return [Finding(name=self.name, value=mean, better="up", sentence=sentence, also=shares)]


def kept_share(feature: Feature, value: Any) -> float:
    """Share of the released rows whose cell does not reach over a boundary."""
    axis = Axis(feature.name, feature.type, feature.hierarchy, feature.values)
    above = sides(axis, value).astype(np.int64)[feature.code]
    counts = np.add.reduceat(above, feature.at[:-1])
    one_side = (counts == 0) | (counts == np.diff(feature.at))
    return float(one_side[feature.cell].mean())
