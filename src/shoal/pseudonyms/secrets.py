"""What undoes a release: mapping tables, gradings and keys, each of a type that does not print or serialise itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl

from shoal.data.coding import canonical_text
from shoal.errors import DomainError, InputError, ParameterError, UserError
from shoal.pseudonyms.tokens import check_key, tokens


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
        """The key itself, for `shoal.pseudonyms.tokens.tokens` and `shoal.pseudonyms.shifts.shift_dates`."""
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
    from shoal.pseudonyms.grades import GradingTable

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
