"""The options of the check, and how they are written for the library."""

from __future__ import annotations

import difflib
import numbers
import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict, Union

from flaggems import errors

_Path = Union[str, "os.PathLike[str]"]


class Options(TypedDict, total=False):
    """Options beside those that enable_precision_check() names itself.

    docs/flags.md says what each does; the default is the profile's.
    """

    # How an element is judged, "fixed" or "budget", and what the reference is
    # computed in, "same" or "double"; budget goes with double.
    tolerance: str
    reference_dtype: str
    # Which calls are checked: "first" or "spread".
    throttle: str
    # Calls with a tensor of more elements are skipped; 0: no limit.
    max_numel: int
    # MiB that one check may take; 0: no limit.
    memory_mb: int
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
    skip: Sequence[str]
    no_skip: Sequence[str]
    # Files: rows of error budgets, and accepted failures.
    policy_file: _Path
    suppressions: _Path


# Those that enable_precision_check() has as parameters.
_NAMED: Final = ("profile", "rtol", "atol", "max_checks", "log_once", "path")
NAMES: Final = frozenset(_NAMED) | frozenset(Options.__annotations__)
_PATHS: Final = frozenset({"path", "policy_file", "suppressions"})


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(operator.index(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        if isinstance(text, str):
            return os.path.expanduser(text) if name in _PATHS else text
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        if all(isinstance(item, str) for item in value):
            return ",".join(value)
    raise errors.InvalidArgumentError(
        f"{name} is {value!r}; give a bool, a number, a text or a list of texts"
    )


def texts(options: Mapping[str, Any]) -> dict[str, str]:
    """The options that are given (not None), each as its flag takes it."""
    for name in options:
        if name not in NAMES:
            near = difflib.get_close_matches(name, sorted(NAMES), n=3, cutoff=0.5)
            hint = (
                f"did you mean {', '.join(near)}?"
                if near
                else f"there are {', '.join(sorted(NAMES))}"
            )
            raise errors.UnknownOptionError(
                f'the precision check has no option "{name}"; {hint}'
            )
    return {
        name: _text(name, value) for name, value in options.items() if value is not None
    }
