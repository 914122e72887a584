"""A model: every call checked, a share of the time, and observed but idle."""

from __future__ import annotations

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


def run_time_fraction(device: str, references: tuple[str, ...]) -> dict[str, Any]:
    """100 forwards of which checks may add 5 %, between as many native ones.

    An operator is covered if at least one of its calls was judged in the round;
    those that a forward with every call checked cannot judge do not count.
    """
    step = forward(device)
    tiny = device == "cpu"
    steps, rounds = (5, 1) if tiny else (100, 3)
    settle = lambda: checking.settle(device)
    reference = references[0]
    with checking.checked(OPS, device, reference, **checking.EVERY_CALL) as check:
        step()
        judgeable = checking.judged(check.summary())
    result: dict[str, Any] = {
        "fraction": 0.05,
        "steps": steps,
        "reference": reference,
        "operators": len(judgeable),
        "rounds": [],
    }
    native = [stopwatch.loop(step, steps, settle)[1] / steps]
    for _ in range(rounds):
        with checking.checked(OPS, device, reference, time_fraction=0.05) as check:
            seconds = stopwatch.loop(step, steps, check.settle)[1] / steps
            covered = checking.judged(check.summary()) & judgeable
            outcome = check.outcome()
        native.append(stopwatch.loop(step, steps, settle)[1] / steps)
        plain = (native[-1] + native[-2]) / 2
        result["rounds"].append(
            {
                "native_ms": plain * 1e3,
                "ms": seconds * 1e3,
                "ratio": seconds / plain,
                "covered": len(covered),
                "not_covered": sorted(judgeable - covered),
                **outcome,
            }
        )
    result["ratio"] = statistics.median(r["ratio"] for r in result["rounds"])
    result["covered"] = min(r["covered"] for r in result["rounds"])
    return result


def run_idle(device: str, references: tuple[str, ...]) -> dict[str, Any]:
    """Forwards with every operator observed and no check enabled, in turns with
    native ones."""
    del references
    step = forward(device)
    steps, rounds = (2, 1) if device == "cpu" else (40, 9)
    settle = lambda: checking.settle(device)
    flaggems.disable_precision_check()
    native, idle = [], []
    for _ in range(rounds):
        native.append(stopwatch.loop(step, steps, settle)[1] / steps * 1e3)
        with flaggems.observe(OPS, device=device) as observation:
            operators = len(observation.ops)
            step()
            settle()
            idle.append(stopwatch.loop(step, steps, settle)[1] / steps * 1e3)
    return {
        "operators": operators,
        "steps": steps,
        "rounds": rounds,
        "native_ms": statistics.median(native),
        "idle_ms": statistics.median(idle),
        "ratio": statistics.median(i / n for i, n in zip(idle, native)),
    }
