"""The check itself: on, off, and what it found."""

from __future__ import annotations

import atexit
import contextlib
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
    FLAGGEMS_PRECISION_<NAME>, else from the profile. In the profile "original",
    the default, all is as in FlagGems, which lets most wrong 16-bit kernels pass.

    Args, each with type and default; of two defaults the second is that of the
    profile "strict":
      rtol (float, 1e-4): relative tolerance, a ratio, of
        |got - want| <= atol + rtol * |want|. At least 1e-2 for calls with float16
        or bfloat16 inputs. "strict" has budgets in place of tolerances.
      atol (float, 1e-5): absolute tolerance of the same, in units of the values;
        at least 1e-2 as above.
      max_checks (int, 10 / 16): how many calls of each operator are checked; in
        "strict" of each signature, and then ever rarer ones. 0: none.
      log_once (bool, True / False): an operator logs one failure and is then no
        longer checked; else every failure is logged.
      path (path, ~/.flaggems/precision.log): the log file. Its directory is made,
        an existing file is kept as <path>.1.
      profile (str, "original"): "original", FlagGems' check, or "strict": each
        element is judged by what rounding can explain, against a float64
        reference.
      tolerance (str, "fixed" / "budget"): by rtol and atol, or by what rounding
        can explain; the latter goes with reference_dtype="double" alone.
      reference_dtype (str, "same" / "double"): the reference is computed in the
        types of the call, or in float64.
      reference (str, "cpu"): where the reference is computed: "cpu"; "device",
        calls whose tensors are all on one CUDA device are screened there, and
        judged on the CPU if the screen does not accept them; "auto", the device
        where that costs less. The latter two go with tolerance="budget" alone.
      throttle (str, "first" / "spread"): which calls are checked: the first
        max_checks of each operator, or some over the whole run.
      max_numel (int, 1000000 / 0): calls with a tensor of more elements are
        skipped; 0: no limit.
      memory_mb (int, 0 / 4096): MiB that one check may take; 0: no limit.
      time_fraction (float, 0): the share of the run time that checks may add,
        0.05 say; calls that there is no time for are skipped, by turns; 0: no
        limit.
      poison (bool, False / True): memory that a kernel allocates is filled and
        guarded, so that what it does not write, or writes beyond, shows.
      log_all (bool, False): calls that end in ERROR, UNTRUSTED, or a SKIP for
        something in the call itself are logged, too.
      on_failure (str, "log"): what a failure does besides being logged: "log",
        nothing; "substitute", the caller gets what the reference computed;
        "abort", the process ends at once.
      format (str, "auto"): of the log: "text", "jsonl" (JSON lines), or "auto",
        the latter if the path ends in .jsonl.
      log_to_stderr (bool, False): log lines go to stderr, too.
      summary_at_exit (bool, True): summary_table() goes to stderr when the
        program ends.
      skip (names of operators, none): further operators never to check, "mm" or
        "add.Tensor": any iterable, or one text with commas.
      no_skip (names of operators, none): operators to check although the skip
        list has them.
      policy_file (path, none): error budgets of your own, docs/flags.md; with
        tolerance="budget" alone.
      suppressions (path, none): accepted failures, docs/flags.md.

    Cost: a checked call takes the kernel's time, that of one native CPU run (in
    the profile "strict" two to ten), and a copy of its arguments: for
    development, not for production.

    An option that was set and has no effect is told by one warning of torch's.

    Raises:
      ValueError: an option is not allowed, or two do not go together; the message
        names them.
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
    # At most once; last in, first out: before what the program has not used yet.
    atexit.unregister(_settle)
    atexit.register(_settle)


def _settle() -> None:
    """Gives calls that wait for a device their verdicts.

    For the end of the interpreter: when the C library ends the process, which is
    when the summary is printed, a device's libraries may have ended already.
    """
    with contextlib.suppress(Exception):
        if precision_check_enabled():
            _library.call("summary")


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

    Whether anything is wrong: any(op["failed"] for op in flaggems.summary()).

    Returns:
      One dict for each checked operator that was called, sorted by name. Each
      call is counted once, in passed, failed, or a dict from reasons to counts
      (docs/record_format.md has the reasons). Keys:

      op (str): the operator, "add.Tensor", "my::op".
      calls (int): calls that were made.
      passed (int): calls that are right: rounding explains every difference.
      failed (int): calls that are wrong.
      failed_by_reason (dict): those of failed, {"value": 2}; adds up to failed.
      skipped (dict): calls that were not checked, on purpose, {"throttle": 84}.
      errors (dict): calls that could not be judged, since the reference or the
        comparison failed, {"reference": 1}.
      untrusted (dict): calls that prove nothing, {"empty": 3}.
      worst_score (float): the largest error in units of what is allowed: 1 is
        the limit. Infinity for a NaN where a number belongs; 0 where nothing was
        compared.

    Calls that are under way are not counted yet. A forked process, such as a
    worker of a DataLoader, counts for itself, from 0: its calls are in no
    summary but its own, while its failures are in the same log. Thread-safe.
    """
    result: list[OpSummary] = _library.call("summary")
    for op in result:
        # JSON has no infinity.
        if op["worst_score"] is None:
            op["worst_score"] = math.inf
    return result


def _costs() -> dict[str, int]:
    """Host time by part of screened calls, in ns, and how those calls ended.

    Since the check was enabled: "snapshot", "contract", "reference", "compare"
    and "record"; "screened", "accepted" and "in_full" are calls. For benchmarks.
    """
    return dict(_library.call("costs"))


def summary_table() -> str:
    """summary() as a table for people.

    Below it come write errors of the log, the first error of each operator whose
    check failed, and why an operator could not be checked for want of a
    reference. Thread-safe.
    """
    return str(_library.call("summary_table"))
