"""A program of Python, observed: MiniLM through transformers.

    observe_minilm.py [--device=cpu] [--time]

Runs the sentence transformer of minilm.py as it is and then with every operator
of aten observed by the profile strict, in float32, bfloat16 and float16, with
attention as separate operators (eager) and fused (sdpa). Prints what was
checked. Exit code 1 if an operator is wrong, if a result differs in one bit
from that without the check, or if summary and log disagree; 2 without the device.

--time: also how long a forward takes without an observer, with every operator
observed and the check disabled (the idle observer), and with its schedule.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import flaggems
import minilm
import torch

_DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def _check(log: Path) -> None:
    flaggems.enable_precision_check(
        profile="strict", path=log, log_once=False, summary_at_exit=False
    )


def _run(encoder, inputs):
    with torch.no_grad():
        return encoder(*inputs)


def _observed_run(encoder, inputs, device: str, log: Path) -> int:
    """Runs it without and with the check; the number of complaints."""
    want = _run(encoder, inputs)
    _check(log)
    flaggems.observe(device=device)
    got = _run(encoder, inputs)
    flaggems.disable()
    flaggems.disable_precision_check()
    rows = flaggems.summary()
    total = {
        key: sum(row[key] for row in rows) for key in ("calls", "passed", "failed")
    }
    others = {
        kind: sum(sum(row[kind].values()) for row in rows)
        for kind in ("skipped", "errors", "untrusted")
    }
    print(" ", *(f"{key} {value}" for key, value in {**total, **others}.items()))
    records = [json.loads(line) for line in log.read_text().splitlines()]
    complaints = 0
    if not torch.equal(want, got):
        print("  the result is not the same with the check")
        complaints += 1
    if len(records) != total["failed"]:
        print(f"  the log has {len(records)} failures, the summary {total['failed']}")
        complaints += 1
    for record in records:
        print(f"  {json.dumps(record)}")
    for row in rows:
        if row["errors"] or row["failed"]:
            print(f"  {row}")
            complaints += 1
    return complaints


def _seconds(encoder, inputs, device: str) -> float:
    start = time.perf_counter()
    _run(encoder, inputs)
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def _time(encoder, inputs, device: str, log: Path) -> None:
    """Forwards in turn, so that what else the machine does meets all alike."""
    times: dict[str, list[float]] = {"plain": [], "idle": [], "schedule": []}

    def in_turn(name: str) -> None:
        for _ in range(100):
            times["plain"].append(_seconds(encoder, inputs, device))
            observation = flaggems.observe(device=device)
            times[name].append(_seconds(encoder, inputs, device))
            observation.remove()

    for _ in range(3):
        _run(encoder, inputs)
    # Until nothing of the model's calls is due for long.
    _check(log)
    observation = flaggems.observe(device=device)
    for _ in range(200):
        _run(encoder, inputs)
    observation.remove()
    in_turn("schedule")
    flaggems.disable_precision_check()
    in_turn("idle")
    plain = statistics.median(times["plain"])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"  {name}: {median * 1e3:.2f} ms a forward, {median / plain:.3f} x plain")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    minilm.require(options.device)
    complaints = 0
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "precision.jsonl"
        for dtype in _DTYPES:
            for attention in ("eager", "sdpa"):
                encoder, inputs = minilm.encoder_and_inputs(attention)
                encoder = encoder.to(options.device, dtype)
                inputs = tuple(x.to(options.device) for x in inputs)
                print(f"{dtype}, {attention} attention")
                complaints += _observed_run(encoder, inputs, options.device, log)
        if options.time:
            encoder, inputs = minilm.encoder_and_inputs("eager")
            encoder = encoder.to(options.device)
            inputs = tuple(x.to(options.device) for x in inputs)
            print("torch.float32, eager attention")
            _time(encoder, inputs, options.device, log)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
