"""A model: every call checked, a share of the time, and observed but idle."""

from __future__ import annotations

import collections
import math
import statistics
from collections.abc import Callable
from typing import Any

import checking
import flaggems
import llama
import stopwatch
import torch

OPS = ("aten::*",)


def forward(device: str) -> Callable[[], torch.Tensor]:
    """One forward of the model; it has run before."""
    size = llama.TINY if device == "cpu" else llama.Size()
    model, ids = llama.model_and_ids(size, device)

    @torch.no_grad()
    def step() -> torch.Tensor:
        return model(ids)

    for _ in range(3):
        step()
    checking.settle(device)
    return step


def run_every_call(device: str, references: tuple[str, ...]) -> dict[str, Any]:
    """Milliseconds a forward; with the reference on the CPU of a single one."""
    step = forward(device)
    tiny = device == "cpu"
    settle = lambda: checking.settle(device)
    result: dict[str, Any] = {
        "native": stopwatch.measure(step, settle, seconds=0.05 if tiny else 1.0)
    }
    for reference in references:
        with checking.checked(OPS, device, reference, **checking.EVERY_CALL) as check:
            result[reference] = stopwatch.measure(
                step,
                check.settle,
                seconds=3.0,
                slow=0.0 if reference == "cpu" else math.inf,
            )
            result[reference].update(check.outcome())
    return result


def _block(
    step: Callable[[], Any], steps: int, settle: Callable[[], Any], lead: int
) -> float:
    """Milliseconds a forward, of `steps` after `lead` others."""
    for _ in range(lead):
        step()
    settle()
    return stopwatch.loop(step, steps, settle)[1] / steps * 1e3


def _of_pairs(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    ratios = [ms / native for native, ms in pairs]
    return {
        "native_ms": statistics.median(native for native, _ in pairs),
        "ms": statistics.median(ms for _, ms in pairs),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def run_time_fraction(device: str, references: tuple[str, ...]) -> dict[str, Any]:
    """Forwards to which checks may add 5 %, in blocks by turns with native ones.

    A block is a run of its own: kernels are observed and the check is enabled
    before its first forward. The first few are not timed, in which the caches of
    the interpreter and of the dispatcher are filled anew; nor is the wait for the
    last verdicts. An operator is covered if at least one of its calls in the block
    was judged; those that a forward with every call checked cannot judge do not
    count.
    """
    step = forward(device)
    lead, steps, blocks = (1, 2, 2) if device == "cpu" else (5, 95, 15)
    settle = lambda: checking.settle(device)
    reference = references[0]
    with checking.checked(OPS, device, reference, **checking.EVERY_CALL) as check:
        step()
        judgeable = checking.judged(check.summary())
    not_covered: set[str] = set()
    covered = len(judgeable)
    verdicts: collections.Counter[str] = collections.Counter()

    def native_block() -> float:
        return _block(step, steps, settle, lead)

    def checked_block() -> float:
        nonlocal covered
        with checking.checked(OPS, device, reference, time_fraction=0.05) as check:
            ms = _block(step, steps, settle, lead)
            missed = judgeable - checking.judged(check.summary())
            verdicts.update(check.outcome()["verdicts"])
        covered = min(covered, len(judgeable - missed))
        not_covered.update(missed)
        return ms

    found = _of_pairs(stopwatch.alternate(native_block, checked_block, blocks))
    return {
        **found,
        "fraction": 0.05,
        "forwards": lead + steps,
        "blocks": blocks,
        "reference": reference,
        "operators": len(judgeable),
        "covered": covered,
        "not_covered": sorted(not_covered),
        "verdicts": dict(verdicts),
    }


def run_idle(device: str, references: tuple[str, ...]) -> dict[str, Any]:
    """Forwards with every operator observed and no check enabled, in blocks by
    turns with native ones."""
    del references
    step = forward(device)
    lead, steps, blocks = (1, 2, 2) if device == "cpu" else (5, 95, 31)
    settle = lambda: checking.settle(device)
    flaggems.disable_precision_check()
    operators = 0

    def native_block() -> float:
        return _block(step, steps, settle, lead)

    def idle_block() -> float:
        nonlocal operators
        with flaggems.observe(OPS, device=device) as observation:
            operators = len(observation.ops)
            return _block(step, steps, settle, lead)

    found = _of_pairs(stopwatch.alternate(native_block, idle_block, blocks))
    return {"operators": operators, "steps": steps, "blocks": blocks, **found}
