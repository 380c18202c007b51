"""Every error Shoal raises on purpose.

::

    ShoalError
    ├── UserError                 exit 2: something in the input or the recipe has to change
    │   ├── InputError            a file or frame cannot be read as a table
    │   ├── SchemaError           columns, roles or types do not fit together
    │   ├── HierarchyError        a hierarchy is malformed or misses values
    │   ├── ParameterError        a parameter is outside its range
    │   ├── RecipeError           a recipe has unknown or contradictory entries
    │   ├── PolicyError           a sensitive-range policy does not fit its column
    │   ├── DomainError           a value lies outside the domain it was declared to have
    │   ├── EmptyTableError       no rows are left to work on
    │   ├── RefusalError          the request is refused until a warning code is acknowledged
    │   └── MissingExtraError     an optional library is not installed
    ├── InfeasibleError           exit 3: no release can satisfy the models
    ├── GateError                 exit 4: a release failed the gate; nothing was written
    ├── VerificationError         exit 4: a written release or a claim failed its re-check
    └── InternalError             exit 1: our own fault

Messages are one sentence that says what was wrong, where, and what to do. They never contain an
identifier or a sensitive value of a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


class ShoalError(Exception):
    """Base of every deliberate error; ``exit_code`` is what the command line returns.

    ``everything`` finds what else is wrong, for whoever wants to know all of it; None where nobody has looked.
    """

    exit_code = 1
    everything: Callable[[], Sequence[ShoalError]] | None = None


class UserError(ShoalError):
    """Something in the input or the recipe has to change."""

    exit_code = 2


class InputError(UserError):
    """A file or frame cannot be read as a table."""


class SchemaError(UserError):
    """Columns, roles or types do not fit together."""


class HierarchyError(UserError):
    """A hierarchy is malformed or misses values."""


class ParameterError(UserError):
    """A parameter is outside its range."""


class RecipeError(UserError):
    """A recipe has unknown or contradictory entries."""


class PolicyError(UserError):
    """A sensitive-range policy does not fit its column."""


class DomainError(UserError):
    """A value lies outside the domain it was declared to have."""


class EmptyTableError(UserError):
    """No rows are left to work on."""


class RefusalError(UserError):
    """The request is refused until its warning codes are acknowledged.

    Parameters
    ----------
    message
        One sentence that says what was found.
    codes
        The warning codes that would accept it.
    """

    def __init__(self, message: str, codes: Iterable[str]) -> None:
        self.codes = tuple(codes)
        accept = ", ".join(f'"{code}"' for code in self.codes)
        super().__init__(f"{message} To accept this, add {accept} to 'acknowledge'.")


class MissingExtraError(UserError):
    """An optional library is not installed; ``extra`` is what brings it, where it is not asked for by its own name."""

    def __init__(self, what: str, library: str, extra: str | None = None) -> None:
        wanted = library if extra is None else f"'shoal[{extra}]'"
        super().__init__(f"{what} needs {library}, which is not installed: run pip install {wanted}.")


class InfeasibleError(ShoalError):
    """No release can satisfy the models within the suppression limit."""

    exit_code = 3


class GateError(ShoalError):
    """A release failed the gate, so nothing was written."""

    exit_code = 4


class VerificationError(ShoalError):
    """A written release or a claim failed its re-check."""

    exit_code = 4


class InternalError(ShoalError):
    """Our own fault: please report it."""


# ----------------------------------------
# Whether errors may name values: not in a process whose messages are kept where no cell may be.


_silent = False


def name_no_values() -> None:
    """Let no error of this process name a value from now on: it is written down where no cell may be."""
    global _silent
    _silent = True


def names_values() -> bool:
    """Whether errors may name values of quasi-identifiers."""
    return not _silent
