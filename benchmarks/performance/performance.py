#!/usr/bin/env python3
"""What checks cost on a CUDA device, as a program in Python sees it.

  performance.py [--only=calls,llama] [--out=FILE] [--device=cpu]

Prints one JSON document; performance_doc.py makes docs/performance.md of it.
Needs torch, flaggems (flaggems/python on PYTHONPATH) and libflaggems.so
(FLAGGEMS_LIBRARY, else that of the source tree).

Exit code 0: measured; 1: a wrong kernel was missed, a right one was reported, or
a part failed (its error is in the document, the other parts go on); 2: the
command line is wrong, or there is no CUDA device.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import time
import traceback
from typing import Any

import torch

# In the order in which they run: what takes longest comes last.
PARTS = ("mutants", "calls", "memory", "idle", "time_fraction", "llama")
REFERENCES = ("device", "cpu")


def _names(known: tuple[str, ...]) -> Any:
    def parse(text: str) -> tuple[str, ...]:
        names = text.split(",")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"there is no {unknown[0]!r}; there are {', '.join(known)}"
            )
        return tuple(name for name in known if name in names)

    return parse


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", type=_names(PARTS), default=PARTS, help=f"some of {','.join(PARTS)}"
    )
    parser.add_argument(
        "--references",
        type=_names(REFERENCES),
        default=REFERENCES,
        help="where references are computed; default: device,cpu",
    )
    parser.add_argument(
        "--device",
        choices=("cuda", "cpu"),
        default="cuda",
        help="cpu: everything once and tiny, to try the program",
    )
    parser.add_argument(
        "--out", help="the document's file, rewritten after each part; default: stdout"
    )
    return parser.parse_args(argv)


def _machine(device: str) -> dict[str, Any]:
    machine = {
        "date": datetime.date.today().isoformat(),
        "device": "CPU",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
    }
    if device == "cuda":
        machine["device"] = torch.cuda.get_device_name()
    return machine


def _runners() -> dict[str, Any]:
    import part_calls
    import part_llama
    import part_memory
    import part_mutants

    return {
        "mutants": part_mutants.run,
        "calls": part_calls.run,
        "memory": part_memory.run,
        "idle": part_llama.run_idle,
        "time_fraction": part_llama.run_time_fraction,
        "llama": part_llama.run_every_call,
    }


def problems(document: dict[str, Any]) -> list[str]:
    """What makes a document no success, one line each."""
    found = []
    for name, part in document["parts"].items():
        if "error" in part:
            found.append(f"{name}: {part['error']}")
    for row in document["parts"].get("mutants", {}).get("result", ()):
        if row["problem"]:
            found.append(f"mutants: {row['name']}, {row['dtype']}: {row['problem']}")
    return found


def _write(document: dict[str, Any], out: str | None) -> None:
    text = json.dumps(document, indent=1) + "\n"
    if out is None:
        sys.stdout.write(text)
        return
    with open(out, "w", encoding="utf-8") as file:
        file.write(text)


def main(argv: list[str]) -> int:
    options = arguments(argv)
    if options.device == "cuda" and not torch.cuda.is_available():
        print("performance.py: torch sees no CUDA device", file=sys.stderr)
        return 2
    references = options.references if options.device == "cuda" else ("cpu",)
    document: dict[str, Any] = {"machine": _machine(options.device), "parts": {}}
    runners = _runners()
    for name in options.only:
        start = time.perf_counter()
        part: dict[str, Any] = {}
        try:
            part["result"] = runners[name](options.device, references)
        except Exception as error:  # the other parts are worth having
            traceback.print_exc()
            part["error"] = f"{type(error).__name__}: {error}"
        part["seconds"] = time.perf_counter() - start
        print(f"{name}: {part['seconds']:.1f} s", file=sys.stderr)
        document["parts"][name] = part
        if options.out is not None:
            _write(document, options.out)
    if options.out is None:
        _write(document, None)
    found = problems(document)
    for line in found:
        print(f"performance.py: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
