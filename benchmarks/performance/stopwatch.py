"""Times calls as the host sees them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

# Of a round at most, so that what small calls leave behind stays small.
_MAX_CALLS = 2000


def loop(
    call: Callable[[], Any], calls: int, settle: Callable[[], Any]
) -> tuple[float, float]:
    """Seconds until `calls` calls have returned, and until they are settled too."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    returned = time.perf_counter()
    settle()
    return returned - start, time.perf_counter() - start


def alternate(
    plain: Callable[[], float], other: Callable[[], float], blocks: int
) -> list[tuple[float, float]]:
    """Blocks of two kinds by turns, so that both meet the same machine.

    Args:
      plain, other: run a block and return what it took.
      blocks: of `other`; one more of `plain`, which begins and ends.

    Returns:
      (plain, other) for each block of `other`. Its plain is the mean of the two
      beside it: a machine that becomes slower at an even pace changes no ratio.
    """
    pairs = []
    before = plain()
    for _ in range(blocks):
        middle = other()
        after = plain()
        pairs.append(((before + after) / 2, middle))
        before = after
    return pairs


def measure(
    call: Callable[[], Any],
    settle: Callable[[], Any],
    *,
    seconds: float,
    slow: float = math.inf,
    rounds: int = 5,
) -> dict[str, Any]:
    """What one call costs, in rounds of many calls.

    Args:
      call: what is timed.
      settle: waits until all that the calls began is done; once a round, and its
        time counts.
      seconds: how long all rounds together should take.
      slow: a first call that takes as many seconds is the only one.
      rounds: how many.

    Returns:
      us, us_least: median and least of the rounds, microseconds a call.
      us_return: median of the time until the call returns, nothing waited for.
      calls, rounds: calls of a round, and rounds, that were timed.
      cold: whether the one call that was timed is the first of all.
    """
    times = [loop(call, 1, settle)]
    calls = 1
    cold = times[0][1] >= slow
    if not cold:
        times = [loop(call, 1, settle) for _ in range(3)]
        one = min(settled for _, settled in times)
        if one * rounds <= seconds:
            # A single call has all of the settling; ten show the calls' own time.
            calls = max(1, min(10, int(seconds / rounds / one)))
            one = loop(call, calls, settle)[1] / calls
            calls = max(1, min(_MAX_CALLS, int(seconds / rounds / one)))
            times = [loop(call, calls, settle) for _ in range(rounds)]
    per_call = [settled / calls * 1e6 for _, settled in times]
    return {
        "us": statistics.median(per_call),
        "us_least": min(per_call),
        "us_return": statistics.median(r / calls * 1e6 for r, _ in times),
        "calls": calls,
        "rounds": len(times),
        "cold": cold,
    }
