"""Texts kept as numbers of the different ones: a byte or two a cell, where Polars takes sixteen for a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.data.domain import Domain

# Rows that tell whether texts repeat at all: numbering those that do not takes long and saves nothing.
FIRST = 1 << 14


def is_held(kind: pl.DataType) -> bool:
    """Whether a column of this type holds texts as numbers."""
    return isinstance(kind, pl.Enum)


def is_text(kind: pl.DataType) -> bool:
    """Whether a column of this type holds texts, as numbers or one by one."""
    return kind == pl.String or is_held(kind)


def held(column: pl.Series) -> pl.Series:
    """A column with its texts as numbers, where at most every second is another one; any other column as it is."""
    numbered = column.cast(counted()) if column.dtype == pl.String and repeats(column) else column
    if not isinstance(numbered.dtype, pl.Categorical):
        return column
    numbers = numbered.to_physical()
    most = numbers.max()
    if not isinstance(most, int) or 2 * (most + 1) > column.len():
        return column.cast(pl.String)
    texts = pl.Series(range(most + 1), dtype=pl.UInt32).cat.to(numbered.dtype).cast(pl.String)
    return placed(numbers.rechunk(), texts).alias(column.name)


def repeats(texts: pl.Series) -> bool:
    """Whether the first of some texts come so often that numbering all of them is worth trying."""
    first = texts.head(FIRST)
    return 8 * first.n_unique() <= 7 * first.len()


def counted() -> pl.Categorical:
    """A type for texts that are numbered as they come, with numbers of its own."""
    return pl.Categorical(pl.Categories.random())


def placed(numbers: pl.Series, texts: pl.Series) -> pl.Series:
    """Texts held by their places in a list of different ones, null where there is no place."""
    kind = pl.Enum(texts)
    narrow = pl.Series([], dtype=kind).to_physical().dtype
    return numbers.cast(narrow).cat.to(kind)


def told(column: pl.Series) -> pl.Series:
    """A column with its texts one by one."""
    return column.cast(pl.String) if is_held(column.dtype) else column


def all_held(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with its texts as numbers, where they repeat."""
    return pl.DataFrame([held(column) for column in frame.iter_columns()]) if frame.width else frame


def all_told(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with all texts one by one."""
    kept = [name for name, kind in frame.schema.items() if is_held(kind)]
    return frame.with_columns(pl.col(kept).cast(pl.String)) if kept else frame


# ----------------------------------------
# Values that look alike, where two spellings of one answer would count as two answers, or of one person as two
# people.
#
# What nobody can see is refused. What people may have meant, such as ``HIV`` and ``hiv``, is warned of, with
# counts.


# What is not seen: control and format characters, soft hyphens, fillers, variation selectors.
_UNSEEN = r"[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Cf}&&[^\t\n\v\f\r\x{85}]]"
# What looks like a blank; Unicode calls the Braille pattern without dots a symbol.
_BLANK = r"[\s\x{2800}]+"
_ODD = r"[^ -~]|  "


def refuse_lookalikes(values: pl.Series, non_answers: Sequence[Any] = ()) -> None:
    """Refuse a column of text in which values differ in nothing but invisible characters or kinds of white space.

    From one another, from a declared non-answer, or from an empty cell: those would pass for answers.
    """
    if values.dtype != pl.String:
        return
    texts = values.drop_nulls().unique()
    if not is_odd(texts):
        return
    others = pl.Series(["", "*", *map(str, non_answers)]).unique()
    others = others.filter(~others.is_in(texts.implode()))
    alike = int(as_seen(pl.concat([texts, others])).is_duplicated().head(texts.len()).sum())
    refuse_alike(values.name, alike)


def is_odd(texts: pl.Series) -> bool:
    """Whether any text may hide something: printable ASCII without double blanks shows every difference."""
    return bool(texts.str.contains(_ODD).any())


def as_seen(texts: pl.Series) -> pl.Series:
    """Texts as they look."""
    return texts.str.replace_all(_UNSEEN, "").str.replace_all(_BLANK, " ").str.strip_chars(" ")


def refuse_alike(name: str, count: int) -> None:
    """Refuse a column in which so many values look like something else."""
    if count:
        raise InputError(
            f"Column '{name}' has {count} values that differ from another one, a non-answer or an empty cell "
            "only in invisible characters or white space, and would be counted as different: clean them."
        )


@dataclass(frozen=True, kw_only=True)
class Spellings:
    """How many values of a column may be other spellings of each other.

    Attributes
    ----------
    role
        ``"sensitive"`` or ``"subject"``.
    spellings, values
        Values that share their form with another one, and how many forms these have.
    """

    column: str
    role: str
    spellings: int
    values: int

    @property
    def sentence(self) -> str:
        """Say what may be wrong with the column, without its values."""
        what = "there are fewer people" if self.role == "subject" else "classes are less diverse"
        return (
            f"In column '{self.column}' {self.spellings:,} of the values may be spellings of {self.values:,} (they "
            f"differ only in case, width, zeros of a number or marks in 'n/a'). If they are, {what} than stated: give "
            "each value one spelling."
        )


def same_form(texts: pl.Series) -> pl.Series:
    """Fold what spellings of one value differ in: case, width, blanks, zeros of numbers, marks of "n/a"."""
    seen = as_seen(texts.str.normalize("NFKC")).str.to_uppercase().str.to_lowercase()
    numbers = seen.str.replace(r"^\+?(-?)0*([0-9]+(?:\.[0-9]*[1-9])?)\.?0*$", "${1}${2}")
    return numbers.str.replace(r"^[^\pL\pN]*n[^\pL\pN]*a[^\pL\pN]*$", "na")


def count_spellings(column: str, role: str, texts: pl.Series, non_answers: Sequence[Any] = ()) -> Spellings | None:
    """Count distinct texts of a column that have the form of another one, or of a declared non-answer.

    Returns None where there are none, and of columns that hold no text: their cells are compared as numbers or dates.
    """
    if texts.dtype != pl.String:
        return None
    others = [one for one in dict.fromkeys(map(str, non_answers)) if not (texts == one).any()]
    forms = same_form(pl.concat([texts.alias(""), pl.Series("", others, dtype=pl.String)]))
    alike = forms.head(texts.len()).filter(forms.is_duplicated().head(texts.len()))
    return Spellings(column=column, role=role, spellings=alike.len(), values=alike.n_unique()) if alike.len() else None


def spelling_facts(domain: Domain) -> list[dict[str, Any]]:
    """List columns with values that may be spellings of each other: sensitive ones and the subject."""
    found = [] if domain.subject_spellings is None else [domain.subject_spellings]
    for column in domain.sensitive:
        if column.type not in ("numeric", "date"):
            there = column.frequencies > 0
            if column.missing >= 0:
                there[column.missing] = False
            texts = column.texts.filter(pl.Series(there))
            one = count_spellings(column.name, "sensitive", texts, column.spec.non_answers)
            found += [] if one is None else [one]
    return [{**asdict(one), "sentence": one.sentence} for one in found]
