"""Runs with the check on, and what they found."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import flaggems  # before torch's kernels are replaced
import torch

# What makes profile strict check every call: its schedule gets no further than
# the first max_checks.
EVERY_CALL = {"max_checks": 10**12}


def settle(device: str) -> None:
    """Waits until the device is idle."""
    if device == "cuda":
        torch.cuda.synchronize()


class Check:
    """An enabled check, for as long as enabled() lasts."""

    def __init__(self, device: str, log: Path) -> None:
        self._device = device
        self._log = log

    def settle(self) -> None:
        """Waits until the device is idle and every call has its verdict."""
        settle(self._device)
        flaggems.summary()

    def summary(self) -> list[flaggems.OpSummary]:
        self.settle()
        return flaggems.summary()

    def outcome(self) -> dict[str, Any]:
        """Verdicts so far, and the nanoseconds that each part of all checks took,
        where the package tells."""
        result: dict[str, Any] = {"verdicts": verdicts(self.summary())}
        costs = getattr(flaggems, "_costs", None)
        if costs is not None:
            found = costs()
            calls = {name: found.pop(name) for name in ("screened", "accepted", "in_full")}
            if calls["screened"]:
                result["screens"] = calls
                result["costs"] = found
        return result

    def records(self) -> list[dict[str, Any]]:
        """Lines of the log; all of them once enabled() is over."""
        return [json.loads(line) for line in self._log.read_text().splitlines()]


@contextlib.contextmanager
def enabled(device: str, reference: str, **options: Any) -> Iterator[Check]:
    """A check of profile strict, of whatever is observed meanwhile.

    Args:
      device: whose kernels, "cuda" or "cpu".
      reference: where the reference is computed, "device" or "cpu".
      options: further ones of flaggems.enable_precision_check().
    """
    if device != "cpu":
        # All of a program for the CPU is computed where its kernels are.
        options["reference"] = reference
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "precision.jsonl"
        flaggems.enable_precision_check(
            profile="strict", path=log, summary_at_exit=False, **options
        )
        try:
            yield Check(device, log)
        finally:
            flaggems.disable_precision_check()


@contextlib.contextmanager
def checked(
    include: Iterable[str], device: str, reference: str, **options: Any
) -> Iterator[Check]:
    """enabled(), with the operators `include` observed, as in
    flaggems.observe()."""
    with enabled(device, reference, **options) as check:
        with flaggems.observe(include, device=device):
            yield check


def verdicts(summary: Iterable[flaggems.OpSummary]) -> dict[str, int]:
    """Calls by verdict: {"calls": 12, "PASS": 11, "SKIP(size)": 1}."""
    found = {"calls": 0, "PASS": 0}
    for op in summary:
        found["calls"] += op["calls"]
        found["PASS"] += op["passed"]
        for name, reasons in (
            ("FAIL", op["failed_by_reason"]),
            ("SKIP", op["skipped"]),
            ("ERROR", op["errors"]),
            ("UNTRUSTED", op["untrusted"]),
        ):
            for reason, count in reasons.items():
                key = f"{name}({reason})"
                found[key] = found.get(key, 0) + count
    return found


def judged(summary: Iterable[flaggems.OpSummary]) -> set[str]:
    """The operators of which at least one call was judged right or wrong."""
    return {op["op"] for op in summary if op["passed"] + op["failed"] > 0}
