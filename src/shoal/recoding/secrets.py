"""What undoes a release: mapping tables, gradings and keys, each of a type that does not print or serialise itself."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl

from shoal.data.coding import canonical_text, code_dates
from shoal.data.schema import ColumnSpec
from shoal.errors import DomainError, InputError, InternalError, ParameterError, UserError
from shoal.params import whole

# ----------------------------------------
# Pseudonyms of identifiers: keyed tokens that nobody can recompute or test a guess on without the key.


KEY_BYTES = 32
_LEAST_BITS, _MOST_BITS = 128, 256


def check_key(key: bytes) -> None:
    """Refuse a key that could be guessed."""
    if len(key) < KEY_BYTES:
        raise ParameterError(f"A key must have at least {KEY_BYTES} bytes: draw a fresh one.")


def keyed_digests(texts: list[str], key: bytes, purpose: str) -> list[bytes]:
    """HMAC-SHA256 of every text; digests of different purposes say nothing about each other."""
    head = purpose.encode() + b"\0"
    return [hmac.digest(key, head + text.encode(), "sha256") for text in texts]


def tokens(values: pl.Series, key: bytes, *, bits: int = 128) -> pl.Series:
    """The token of every value, as hexadecimal text; missing stays missing.

    Equal values get equal tokens, so a token links all rows of a person (``W-TRAJECTORY``); under the same key it also
    links them across releases. Cost: one digest a distinct value.

    Parameters
    ----------
    key
        At least 32 secret bytes: fresh for every release (``Keys.private_bytes``), or one that a vault keeps.
    bits
        Length of a token, from 128 to 256 and a multiple of 8.
    """
    length = whole("a token", "bits", bits, least=_LEAST_BITS)
    if length > _MOST_BITS or length % 8:
        raise ParameterError(f"The 'bits' of a token must be a multiple of 8 up to {_MOST_BITS}. Got {bits!r}.")
    check_key(key)
    texts = canonical_text(values)
    distinct = texts.drop_nulls().unique(maintain_order=True)
    made = pl.Series(
        [digest[: length // 8].hex() for digest in keyed_digests(distinct.to_list(), key, "shoal token")],
        dtype=pl.String,
    )
    if made.n_unique() < made.len():
        raise InternalError(f"Two values of column '{values.name}' got the same token: run again with a fresh key.")
    return texts.replace_strict(distinct, made, default=None, return_dtype=pl.String).alias(values.name)


class Secret:
    """Something that turns one column's values into codes, or back.

    Its repr is redacted and it cannot be pickled or copied: the only ways out are :meth:`reveal` and a vault.

    Attributes
    ----------
    column
        The column it belongs to.
    kind
        ``"mapping"``, ``"grading"`` or ``"key"``.
    """

    __slots__ = ("column",)
    kind: ClassVar[str]

    def __init__(self, column: str) -> None:
        self.column = column

    def reveal(self) -> dict[str, Any]:
        """The secret itself in JSON's types, for the trusted side; :func:`restore` reads it back."""
        raise NotImplementedError

    def encode(self, values: pl.Series, *, strict: bool = True) -> pl.Series:
        """The codes of values; one that the secret does not know is a `DomainError`, or missing if not ``strict``."""
        raise NotImplementedError

    def decode(self, codes: pl.Series) -> pl.Series:
        """The values behind codes."""
        raise NotImplementedError

    def size(self) -> str:
        """How much it holds, without any of it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}(column={self.column!r}, {self.size()}, redacted)"

    def __reduce__(self) -> Any:
        raise TypeError(f"A {type(self).__name__} is secret and cannot be serialised: put it in a vault.")


class MappingTable(Secret):
    """A secret one-to-one correspondence between the values of a column and codes (PP Sec. 4.2)."""

    __slots__ = ("_codes", "_values")
    kind = "mapping"

    def __init__(self, column: str, mapping: Mapping[str, str]) -> None:
        super().__init__(column)
        self._values = pl.Series(list(mapping.keys()), dtype=pl.String)
        self._codes = pl.Series(list(mapping.values()), dtype=pl.String)
        if self._codes.n_unique() < self._codes.len():
            raise ParameterError(f"The mapping of column '{column}' gives one code to several values: use one each.")

    def reveal(self) -> dict[str, Any]:
        """Column and mapping, in the order of the codes' drawing."""
        return {
            "kind": self.kind,
            "column": self.column,
            "mapping": dict(zip(self._values.to_list(), self._codes.to_list(), strict=True)),
        }

    def encode(self, values: pl.Series, *, strict: bool = True) -> pl.Series:
        """The code of every value; missing stays missing."""
        what = "values that its mapping does not contain" if strict else None
        return self._swap(canonical_text(values), self._values, self._codes, what)

    def decode(self, codes: pl.Series) -> pl.Series:
        """The value of every code; missing stays missing."""
        return self._swap(codes.cast(pl.String), self._codes, self._values, "codes that its mapping does not contain")

    def size(self) -> str:
        """Number of values."""
        return f"{len(self)} values"

    def __len__(self) -> int:
        return self._values.len()

    def _swap(self, cells: pl.Series, old: pl.Series, new: pl.Series, what: str | None) -> pl.Series:
        found = cells.replace_strict(old, new, default=None, return_dtype=pl.String)
        unknown = found.null_count() - cells.null_count()
        if unknown and what is not None:
            raise DomainError(f"Column '{self.column}' has {unknown} {what}: it was made for other data.")
        return found.alias(cells.name)


class SecretKey(Secret):
    """Secret bytes that tokens of a column's values, or date offsets of its people, follow from."""

    __slots__ = ("_key",)
    kind = "key"

    def __init__(self, column: str, key: bytes) -> None:
        super().__init__(column)
        check_key(key)
        self._key = bytes(key)

    def reveal(self) -> dict[str, Any]:
        """Column and key, as hexadecimal text."""
        return {"kind": self.kind, "column": self.column, "key": self._key.hex()}

    def encode(self, values: pl.Series, *, strict: bool = True) -> pl.Series:
        """Tokens of values; they cannot be decoded."""
        return tokens(values, self._key)

    def decode(self, codes: pl.Series) -> pl.Series:
        """Refused: a token is a digest, so the identifiers themselves have to be encoded again and compared."""
        raise ParameterError(
            f"Tokens of column '{self.column}' cannot be decoded: encode the identifiers you have and compare."
        )

    def raw(self) -> bytes:
        """The key itself, for `shoal.recoding.secrets.tokens` and `shoal.recoding.secrets.shift_dates`."""
        return self._key

    def size(self) -> str:
        """Length of the key."""
        return f"{8 * len(self._key)} bits"


def by_column(secrets: Sequence[Secret]) -> dict[str, Secret]:
    """Given mappings and gradings by their columns; keys make tokens and are given otherwise."""
    found: dict[str, Secret] = {}
    for one in secrets:
        if not isinstance(one, Secret) or one.kind == SecretKey.kind:
            raise ParameterError("Codes are given as mappings and gradings: a key for tokens is the token_key.")
        if one.column in found:
            raise ParameterError(f"Two sets of codes are given for column '{one.column}': keep one.")
        found[one.column] = one
    return found


def restore(plain: Any) -> Secret:
    """A secret from what :meth:`Secret.reveal` gave."""
    from shoal.recoding.grading import GradingTable

    try:
        kind, column = plain["kind"], plain["column"]
        if not isinstance(column, str):
            raise TypeError("a column is named by a text")
        if kind == MappingTable.kind:
            return MappingTable(column, plain["mapping"])
        if kind == SecretKey.kind:
            return SecretKey(column, bytes.fromhex(plain["key"]))
        if kind == GradingTable.kind:
            return GradingTable.of_plain(plain)
    except UserError as error:  # somebody may have written it, and can mend it
        raise InputError(f"A secret cannot be used. {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, pl.exceptions.PolarsError):
        raise InputError("A secret is damaged or incomplete: it cannot be used.") from None
    raise InputError("A secret is of a kind that this version does not know: it cannot be used.")


# ----------------------------------------
# Dates moved by a secret number of days a person, so that the gaps between a person's dates stay true.


# The first and last day that has an ISO date, counted from 1970.
_FIRST, _LAST = -719162, 2932896


def day_offsets(subjects: pl.Series, key: bytes, *, days: int) -> pl.Series:
    """Int32, one a row: the offset of the row's subject, uniform from -``days`` to ``days``.

    An offset follows from key and subject alone, so that all dates of a subject move alike, whatever their column, and
    so do later ones under the same key. Without the key it cannot be told from a random one.
    """
    reach = whole("a date shift", "days", days, least=1)
    check_key(key)
    if subjects.null_count():
        raise InputError(f"The subject column '{subjects.name}' has {subjects.null_count()} missing cells: fill them.")
    texts = canonical_text(subjects)
    distinct = texts.unique(maintain_order=True)
    # 256 bits modulo a few thousand days: the bias is below 1e-70.
    moves = [
        int.from_bytes(digest, "big") % (2 * reach + 1) - reach
        for digest in keyed_digests(distinct.to_list(), key, "shoal offset")
    ]
    return texts.replace_strict(distinct, pl.Series(moves, dtype=pl.Int32), return_dtype=pl.Int32).alias("offset")


def shift_dates(
    dates: pl.Series, subjects: pl.Series, key: bytes, *, days: int, format: str | None = None
) -> pl.Series:
    """The dates of a column, each moved by its subject's offset; the column keeps its type, missing stays missing.

    Parameters
    ----------
    dates
        Dates, date-times at midnight, or text.
    subjects
        Whose date it is, one entry a row.
    days
        The largest move in either direction.
    format
        strptime format of text, ISO when None.
    """
    offsets = day_offsets(subjects, key, days=days)
    codes, values = code_dates(dates.name, dates, ColumnSpec(format=format))
    known = pl.Series(values, dtype=pl.Int64).extend_constant(None, 1)
    moved = known.gather(codes) + offsets.cast(pl.Int64)
    outside = int(((moved < _FIRST) | (moved > _LAST)).sum())
    if outside:
        raise DomainError(f"{outside} dates of column '{dates.name}' would leave the years 1 to 9999: shift them less.")
    shifted = moved.cast(pl.Int32).cast(pl.Date)
    if dates.dtype == pl.String:
        return shifted.dt.strftime(format or "%Y-%m-%d").alias(dates.name)
    return shifted.cast(dates.dtype).alias(dates.name)
