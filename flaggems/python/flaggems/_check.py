"""The check itself: on, off, and what it found."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, Final, TypedDict, Union

from flaggems import _library, _options, errors

if TYPE_CHECKING:
    from typing_extensions import Unpack


class OpSummary(TypedDict):
    """What became of the calls of one operator since the check was enabled.

    Each call is in exactly one of passed, failed, and the three dicts by
    reason (docs/record_format.md has the reasons).
    """

    op: str  # "add.Tensor"
    calls: int
    passed: int
    failed: int
    failed_by_reason: dict[str, int]  # adds up to failed
    skipped: dict[str, int]
    errors: dict[str, int]
    untrusted: dict[str, int]
    # The largest error in units of what is allowed: 1 is the limit. Infinity
    # for a NaN where a number belongs; 0 where nothing was compared.
    worst_score: float


class _Unsaid(str):
    """A default that can be told from the same text given by the caller."""


_ORIGINAL: Final = _Unsaid("original")


def enable_precision_check(
    rtol: float | None = None,
    atol: float | None = None,
    max_checks: int | None = None,
    log_once: bool | None = None,
    path: Union[str, os.PathLike[str], None] = None,
    *,
    profile: str = _ORIGINAL,
    **options: Unpack[_options.Options],
) -> None:
    """Configures the precision check and opens its log; step 1 of 2.

    Step 2 says which kernels are checked: observe(), enable() or only_enable()
    with registrar=PrecisionCheckRegister. It may come before step 1.

    Called again, it reconfigures: the old log is closed, all counts and reports
    start anew, and installed kernels are checked from then on.

    What is left out (or None) is taken from the environment variable
    FLAGGEMS_PRECISION_<NAME>, else from the profile. In the profile "original"
    the defaults are those of FlagGems.

    Args:
      rtol: relative tolerance, a ratio, of |got - want| <= atol + rtol * |want|.
        Default 1e-4. At least 1e-2 for calls with float16 or bfloat16 inputs.
        The profile "strict" has budgets in place of tolerances.
      atol: absolute tolerance of the same, in units of the values. Default
        1e-5; at least 1e-2 as above.
      max_checks: how many calls of each operator are checked. Default 10; in
        the profile "strict" 16 of each signature, then ever rarer ones.
      log_once: whether an operator logs one failure only and is then no longer
        checked. Default True; False in the profile "strict".
      path: the log file. Default ~/.flaggems/precision.log. Its directory is
        made, an existing file is kept as <path>.1, a path that ends in .jsonl
        gets JSON lines.
      profile: "original", FlagGems' check, or "strict": each element is judged
        by what rounding can explain, against a float64 reference.
      **options: every other option of docs/flags.md: format, skip,
        summary_at_exit, suppressions, ... A flag's value is given as a bool, a
        number, a text or a list of texts.

    Cost: a checked call takes the kernel's time, that of one native CPU run (in
    the profile "strict" two to ten), and a copy of its arguments: for
    development, not for production.

    Raises:
      ValueError: an option is not allowed; the message names it.
      TypeError: there is no option of that name; names the nearest ones.
      OSError: the log, or a file that an option names, cannot be opened.
      After any of them the former configuration stays in force.

    Thread-safe.
    """
    given: dict[str, Any] = dict(
        options,
        rtol=rtol,
        atol=atol,
        max_checks=max_checks,
        log_once=log_once,
        path=path,
        profile=None if isinstance(profile, _Unsaid) else profile,
    )
    _library.call(
        "enable_precision_check",
        {"options": _options.texts(given)},
        error_of=errors.of_opening,
    )


def disable_precision_check() -> None:
    """No more checks: kernels run as they are at once, and the log is closed.

    What was found stays in summary(). Kernels stay installed and observed;
    disable() removes them. Does nothing if no check is enabled. Thread-safe, at
    any time.
    """
    _library.call("disable_precision_check")


def precision_check_enabled() -> bool:
    """Whether a check is enabled. Thread-safe."""
    return bool(_library.call("enabled"))


def summary() -> list[OpSummary]:
    """What became of every call since the check was enabled last.

    One entry for each checked operator that was called, sorted by name; none
    before the first check is enabled. Calls that are under way are not counted
    yet. Thread-safe.
    """
    result: list[OpSummary] = _library.call("summary")
    for op in result:
        # JSON has no infinity.
        if op["worst_score"] is None:
            op["worst_score"] = math.inf
    return result


def summary_table() -> str:
    """summary() as a table for people.

    Below it come write errors of the log and the first error of each operator
    whose check failed. Thread-safe.
    """
    return str(_library.call("summary_table"))
