#!/usr/bin/env python3
"""Puts results of performance.py into docs/performance.md.

  performance_doc.py RESULTS.json [MORE.json ...] DOC.md

RESULTS.json are outputs of performance.py and of
benchmarks/cuda/device_compare_benchmark, in any order. Of a part that several
results have the last one counts. Replaces what stands between the markers
"<!-- results -->" and "<!-- end of results -->" of DOC.md; the text around them
is written by hand. Fails if a part is missing or has no numbers; that of the
comparator may be missing. Needs no torch.
"""

from __future__ import annotations

import json
import sys
from typing import Any

_START = "<!-- results -->\n"
_END = "<!-- end of results -->\n"

_PARTS = ("calls", "llama", "time_fraction", "idle", "memory", "mutants")

# What FlagGems' own check costs, every call checked, microseconds; measured on
# an H200 with its main branch of 2026-08-21.
_FLAGGEMS_US = {
    "add (2, 3)": "348",
    "softmax (1024, 1000)": "14,194",
    "mm (1024, 1000) x (1000, 1000)": "(false alarm)",
}
_GOAL_US = {
    "add (2, 3)": 60,
    "softmax (1024, 1000)": 100,
    "mm (1024, 1000) x (1000, 1000)": 250,
}
_GOAL_EVERY_CALL = 8.0
_GOAL_TIME_FRACTION = 1.06
_GOAL_IDLE = 1.02
# Percent of a copy's bytes a second, contiguous outputs of this size and more.
_GOAL_COMPARATOR = 80
_GOAL_COMPARATOR_MB = 64


def number(value: float) -> str:
    """Three digits or all before the point: 0.123, 12.3, 1,234."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def judged(verdicts: dict[str, int]) -> str:
    """'all 12' if every call passed, else the verdicts."""
    calls = verdicts["calls"]
    if verdicts["PASS"] == calls:
        return f"all {calls:,} PASS"
    rest = [f"{n:,} {name}" for name, n in verdicts.items() if name != "calls"]
    return f"{calls:,}: " + ", ".join(rest)


def _table(heads: list[str], right: int, rows: list[list[str]]) -> list[str]:
    """A table whose columns from `right` on hold numbers; the last is text."""
    kinds = ["--:" if right <= i < len(heads) - 1 else "---" for i in range(len(heads))]
    lines = [heads, kinds] + rows
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def _checked(row: dict[str, Any], reference: str) -> tuple[str, str]:
    """Cost and verdicts of a run; empty where there is none."""
    run = row.get(reference)
    if run is None:
        return "", ""
    return number(run["us"]) + (" (once)" if run["cold"] else ""), judged(
        run["verdicts"]
    )


def calls(rows: list[dict[str, Any]]) -> list[str]:
    table = []
    for row in rows:
        cpu, cpu_verdicts = _checked(row, "cpu")
        device, device_verdicts = _checked(row, "device")
        times = ""
        if "device" in row:
            times = number(row["device"]["us"] / row["native"]["us"])
        goal = _GOAL_US.get(row["name"])
        table.append(
            [
                row["name"],
                row["dtype"],
                number(row["native"]["us"]),
                _FLAGGEMS_US.get(row["name"], ""),
                cpu,
                device,
                times,
                str(goal) if goal else "",
                "; ".join(
                    f"{name}: {text}"
                    for name, text in (
                        ("cpu", cpu_verdicts),
                        ("device", device_verdicts),
                    )
                    if text
                ),
            ]
        )
    heads = ["call", "dtype", "native us", "FlagGems us", "cpu us", "device us"]
    heads += ["device/native", "goal us", "verdicts"]
    return ["### Single calls", ""] + _table(heads, 2, table)


def model(parts: dict[str, Any]) -> list[str]:
    every, share, idle = parts["llama"], parts["time_fraction"], parts["idle"]
    native = every["native"]["us"]
    rows = [["native", number(native / 1e3), "", "1", "", ""]]
    for reference, goal in (("device", f"{_GOAL_EVERY_CALL:.0f}"), ("cpu", "")):
        if reference not in every:
            continue
        run = every[reference]
        once = ", once" if run["cold"] else ""
        rows.append(
            [
                f"every call, reference={reference}{once}",
                number(run["us"] / 1e3),
                number(native / 1e3),
                number(run["us"] / native),
                goal,
                judged(run["verdicts"]),
            ]
        )
    text = f"at least {share['covered']} of {share['operators']} operators judged; "
    rows.append(
        [
            f"time_fraction={share['fraction']}, {share['blocks']} blocks of "
            f"{share['forwards']} forwards",
            number(share["ms"]),
            number(share["native_ms"]),
            f"{share['ratio']:.3f}",
            f"{_GOAL_TIME_FRACTION:.2f}",
            text + judged(share["verdicts"]),
        ]
    )
    rows.append(
        [
            "observed, no check enabled",
            number(idle["ms"]),
            number(idle["native_ms"]),
            f"{idle['ratio']:.3f}",
            f"{_GOAL_IDLE:.2f}",
            f"{idle['operators']:,} operators observed",
        ]
    )
    heads = ["run", "ms a forward", "native ms", "times native", "goal", "verdicts"]
    lines = ["### A Llama", ""] + _table(heads, 1, rows)
    if share["not_covered"]:
        lines += [
            f"Not judged in a block of time_fraction={share['fraction']}: "
            + ", ".join(share["not_covered"])
            + ".",
            "",
        ]
    return lines


def costs(parts: dict[str, Any]) -> list[str]:
    """Where the library says what its parts take; else nothing."""
    runs = [
        (f"{row['name']}, {reference}", row[reference])
        for row in parts["calls"]
        for reference in ("device", "cpu")
        if reference in row
    ]
    runs += [
        (f"Llama, every call, {reference}", parts["llama"][reference])
        for reference in ("device", "cpu")
        if reference in parts["llama"]
    ]
    runs = [(name, run) for name, run in runs if run.get("costs")]
    if not runs:
        return []
    names = list(dict.fromkeys(part for _, run in runs for part in run["costs"]))
    rows = [
        [name]
        + [
            number(run["costs"].get(part, 0) / 1e3 / run["verdicts"]["calls"])
            for part in names
        ]
        + [""]
        for name, run in runs
    ]
    lines = ["### Cost by part", "", "Microseconds a call.", ""]
    return lines + _table(["run"] + names + [""], 1, rows)


def memory(rows: list[dict[str, Any]]) -> list[str]:
    table = [
        [
            row["name"],
            number(row["native_mb"]),
            f"{row['memory_mb']:,}",
            number(row["extra_mb"]),
            number(row["outside_mb"]),
            judged(row["verdicts"]),
        ]
        for row in rows
    ]
    heads = ["run", "native peak MiB", "memory_mb", "extra MiB"]
    heads += ["outside torch's allocator MiB", "verdicts"]
    return ["### Device memory", ""] + _table(heads, 1, table)


def mutants(rows: list[dict[str, Any]]) -> list[str]:
    table = []
    for row in rows:
        record = row["records"][0] if row["records"] else None
        found = "nothing, as it should be" if not row["wrong"] else ""
        if record:
            found = "call %d, element %s: got %s, want %s" % (
                record["call"],
                tuple(record["worst_index"] or ()),
                record["got"],
                record["want"],
            )
        text = row["problem"] or found
        table.append(
            [row["name"], row["dtype"], text, "no" if row["problem"] else "yes"]
        )
    heads = ["kernel", "dtype", "reported", "as expected"]
    return ["### Wrong kernels", ""] + _table(heads, len(heads), table)


def _comparator_goal(row: dict[str, Any]) -> int | None:
    large = row["mb"] >= _GOAL_COMPARATOR_MB and row["layout"] == "contiguous"
    return _GOAL_COMPARATOR if large else None


def _comparator_name(row: dict[str, Any]) -> str:
    dtype = row["dtype"].removeprefix("torch.")
    conditions = ", conditions" if row["conditions"] else ""
    return f"{dtype}, {row['mb']:,} MiB, {row['layout']}{conditions}"


def comparator(rows: list[dict[str, Any]]) -> list[str]:
    """Of device_compare_benchmark; nothing without its results."""
    if not rows:
        return []
    table = []
    for row in rows:
        notes = row.get("problem") or row.get("skipped") or ""
        numbers = ["", "", "", ""]
        if "us" in row:
            keys = ("us", "gb_per_s", "copy_gb_per_s", "percent")
            numbers = [number(row[key]) for key in keys]
        goal = _comparator_goal(row)
        table.append(
            [_comparator_name(row)] + numbers + [str(goal) if goal else "", notes]
        )
    heads = ["output", "us", "GB/s", "copy GB/s", "percent of copy", "goal", "notes"]
    return ["### Device comparator", ""] + _table(heads, 1, table)


def missed(parts: dict[str, Any]) -> list[str]:
    """The goals that these results do not reach, one line each."""
    found = []
    for row in parts["calls"]:
        goal = _GOAL_US.get(row["name"])
        if goal and "device" in row and row["device"]["us"] > goal:
            found.append(
                f"{row['name']}: {number(row['device']['us'])} us, goal {goal}"
            )
    every, share, idle = parts["llama"], parts["time_fraction"], parts["idle"]
    if "device" in every:
        ratio = every["device"]["us"] / every["native"]["us"]
        if ratio > _GOAL_EVERY_CALL:
            found.append(f"Llama, every call: {number(ratio)} times native, goal 8")
    if share["ratio"] > _GOAL_TIME_FRACTION:
        found.append(f"time_fraction: {share['ratio']:.3f} times native, goal 1.06")
    if share["covered"] < share["operators"]:
        found.append(
            f"time_fraction: {share['covered']} of {share['operators']} "
            "operators judged"
        )
    if idle["ratio"] > _GOAL_IDLE:
        found.append(f"idle: {idle['ratio']:.3f} times native, goal 1.02")
    for row in parts["memory"]:
        if row["extra_mb"] > row["memory_mb"]:
            found.append(
                f"{row['name']}, memory_mb={row['memory_mb']}: "
                f"{number(row['extra_mb'])} MiB more"
            )
    runs = [
        (f"{row['name']}, reference={reference}", row[reference])
        for row in parts["calls"]
        for reference in ("device", "cpu")
        if reference in row
    ]
    runs += [
        (f"Llama, reference={reference}", every[reference])
        for reference in ("device", "cpu")
        if reference in every
    ]
    for name, run in runs:
        verdicts = run["verdicts"]
        if verdicts["PASS"] < verdicts["calls"]:
            found.append(
                f"{name}: {verdicts['PASS']:,} of {verdicts['calls']:,} calls PASS"
            )
    for row in parts["mutants"]:
        if row["problem"]:
            found.append(f"{row['name']}: {row['problem']}")
    for row in parts["device_comparator"]:
        goal = _comparator_goal(row)
        text = row.get("problem")
        if not text and goal and row.get("percent", goal) < goal:
            text = f"{number(row['percent'])} % of a copy, goal {goal}"
        if text:
            found.append(f"device comparator, {_comparator_name(row)}: {text}")
    return found


def document(results: dict[str, Any]) -> str:
    """The generated part.

    Args:
      results: {"machine": ..., "parts": {name: {"result": ...}}}.

    Raises:
      SystemExit: a part is missing or failed.
    """
    machine = results["machine"]
    parts = {}
    for name in _PARTS:
        part = results["parts"].get(name, {"error": "was not run"})
        if "error" in part:
            raise SystemExit(f"no numbers of {name}: {part['error']}")
        parts[name] = part["result"]
    part = results["parts"].get("device_comparator", {"result": []})
    parts["device_comparator"] = part["result"]
    lines = [
        f"Measured on {machine['date']}, {machine['device']}, {machine['cores']} "
        f"cores, torch {machine['torch']}, Python {machine['python']}.",
        "",
    ]
    lines += calls(parts["calls"])
    lines += model(parts)
    lines += costs(parts)
    lines += memory(parts["memory"])
    lines += comparator(parts["device_comparator"])
    lines += mutants(parts["mutants"])
    lines += ["### Goals that are missed", ""]
    lines += [f"- {line}" for line in missed(parts)] or ["None."]
    return "\n".join(lines) + "\n"


def merged(documents: list[dict[str, Any]]) -> dict[str, Any]:
    # performance.py's says more of the machine than the comparator's.
    machine = max((each["machine"] for each in reversed(documents)), key=len)
    result: dict[str, Any] = {"machine": machine, "parts": {}}
    for each in documents:
        if each["machine"]["device"] != result["machine"]["device"]:
            raise SystemExit("the results are of different devices")
        result["parts"].update(each["parts"])
    return result


def in_page(page: str, text: str) -> str:
    """The page with other results."""
    if _START not in page or _END not in page:
        raise SystemExit(f"the page has no lines {_START.strip()} and {_END.strip()}")
    head, rest = page.split(_START, 1)
    return head + _START + "\n" + text + "\n" + _END + rest.split(_END, 1)[1]


def main(argv: list[str]) -> None:
    if len(argv) < 2:
        raise SystemExit(__doc__)
    documents = []
    for path in argv[:-1]:
        with open(path, encoding="utf-8") as file:
            documents.append(json.load(file))
    with open(argv[-1], encoding="utf-8") as file:
        page = file.read()
    page = in_page(page, document(merged(documents)))
    with open(argv[-1], "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main(sys.argv[1:])
