"""The options of the check, and how they are written for the library."""

from __future__ import annotations

import difflib
import numbers
import operator
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict, Union

from flaggems import _names, errors

_Path = Union[str, "os.PathLike[str]"]


class Options(TypedDict, total=False):
    """Options beside those that enable_precision_check() names itself.

    docs/flags.md says what each does; the default is the profile's.
    """

    # How an element is judged, "fixed" or "budget", and what the reference is
    # computed in, "same" or "double"; budget goes with double.
    tolerance: str
    reference_dtype: str
    # Where the reference is computed: "cpu", "device" or "auto".
    reference: str
    # Which calls are checked: "first" or "spread".
    throttle: str
    # Calls with a tensor of more elements are skipped; 0: no limit.
    max_numel: int
    # MiB that one check may take; 0: no limit.
    memory_mb: int
    # The share of the run time that checks may add; 0: no limit.
    time_fraction: float
    # Whether memory that a kernel allocates is filled and guarded.
    poison: bool
    # Whether calls that end in ERROR, UNTRUSTED or a SKIP of their own are logged.
    log_all: bool
    # What a failure does besides being logged: "log" (nothing), "substitute" (the
    # caller gets what the reference computed) or "abort".
    on_failure: str
    # Of the log: "auto", "text" or "jsonl".
    format: str
    # Whether log lines also go to stderr.
    log_to_stderr: bool
    # Whether a table of all verdicts goes to stderr at the end.
    summary_at_exit: bool
    # Operators never to check, and operators to check in spite of the list.
    skip: Iterable[str]
    no_skip: Iterable[str]
    # Files: rows of error budgets, and accepted failures.
    policy_file: _Path
    suppressions: _Path


# Those that enable_precision_check() has as parameters.
_NAMED: Final = ("profile", "rtol", "atol", "max_checks", "log_once", "path")
NAMES: Final = frozenset(_NAMED) | frozenset(Options.__annotations__)
_PATHS: Final = frozenset({"path", "policy_file", "suppressions"})
_LISTS: Final = frozenset({"skip", "no_skip"})


def _path(name: str, value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        if isinstance(text, str):
            return os.path.expanduser(text)
    raise errors.InvalidArgumentError(
        f"{name} is {value!r}; give the name of a file, a text or a pathlib.Path"
    )


def _list(name: str, value: Any) -> str:
    # A text is as the flag has it: "mm,add.Tensor".
    items: Any = value.split(",") if isinstance(value, str) else value
    if isinstance(items, Iterable) and not isinstance(items, (bytes, bytearray)):
        # An iterator's items are there once.
        items = value = list(items)
        if all(isinstance(item, str) for item in items):
            try:
                return ",".join(_names.checked_text(name, item) for item in items)
            except errors.NotFoundError as error:
                # What an option says is a value, not something to look up.
                raise errors.InvalidArgumentError(f"{name}: {error}") from None
    raise errors.InvalidArgumentError(
        f'{name} is {value!r}; give a list of names of operators, ["mm", "add.Tensor"]'
    )


def _text(name: str, value: Any) -> str:
    if name in _PATHS:
        return _path(name, value)
    if name in _LISTS:
        return _list(name, value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(operator.index(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, str):
        return value
    raise errors.InvalidArgumentError(
        f"{name} is {value!r}; give a bool, a number or a text"
    )


def _hint(name: str) -> str:
    """What somebody may mean who gives an option of that name."""
    # As the flag or the variable has it: --precision_rtol, FLAGGEMS_PRECISION_RTOL.
    plain = re.sub(
        r"^(_*|flaggems_)precision_", "", name.lower().replace("-", "_"), count=1
    )
    if plain in NAMES:
        return f"did you mean {plain}?"
    if plain != name and plain == "check":
        return "the call itself enables the check"
    near = difflib.get_close_matches(plain, sorted(NAMES), n=3, cutoff=0.5)
    if near:
        return f"did you mean {', '.join(near)}?"
    return f"there are {', '.join(sorted(NAMES))}"


def texts(options: Mapping[str, Any]) -> dict[str, str]:
    """The options that are given (not None), each as its flag takes it."""
    for name in options:
        if name not in NAMES:
            raise errors.UnknownOptionError(
                f'the precision check has no option "{name}"; {_hint(name)}'
            )
    return {
        name: _text(name, value) for name, value in options.items() if value is not None
    }
