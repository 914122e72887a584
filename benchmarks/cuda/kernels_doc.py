#!/usr/bin/env python3
"""Puts results of kernels_cuda_benchmark into docs/kernels.md.

  kernels_doc.py RESULTS.json DOC.md

Replaces what stands between the markers "<!-- results -->" and
"<!-- end of results -->" of DOC.md; the text around them is written by hand.
Fails if a row of the results has no numbers.
"""

import json
import math
import sys

_START = "<!-- results -->\n"
_END = "<!-- end of results -->\n"


def geometric_mean(values):
  values = list(values)
  if not values:
    return float("nan")
  return math.exp(sum(math.log(v) for v in values) / len(values))


def rate(row, ms):
  """Bytes or flops of the row over its time, in GB/s or TFLOP/s."""
  return row["work"] / ms / (1e6 if row["limit"] == "memory" else 1e9)


def ceiling(row, machine):
  if row["limit"] == "memory":
    return machine["copy_gb_per_s"]
  return machine["matrix_tflop_per_s"]


def table(rows, machine):
  lines = [
      "| call | dtype | native ms | ours ms | native/ours | native share |"
      " our share | goal |",
      "|---|---|--:|--:|--:|--:|--:|--:|",
  ]
  for row in rows:
    native, own = row["native_ms"], row["own_ms"]
    shares = ["", ""]
    if "limit" in row:
      top = ceiling(row, machine)
      shares = ["%.2f" % (rate(row, ms) / top) for ms in (native, own)]
    goal = "%.2f" % row["goal"] if row["goal"] else ""
    lines.append("| %s | %s | %.4f | %.4f | %.2f | %s | %s | %s |" % (
        row["name"], row["dtype"].lower(), native, own, native / own,
        shares[0], shares[1], goal))
  return lines


def document(results):
  """The generated part, as text."""
  machine = results["machine"]
  rows = results["rows"]
  broken = [r for r in rows if "error" in r]
  if broken:
    raise SystemExit("no numbers for: " + "; ".join(
        "%s %s: %s" % (r["name"], r["dtype"], r["error"].splitlines()[0])
        for r in broken))
  speedup = lambda r: r["native_ms"] / r["own_ms"]
  memory = [r for r in rows if r.get("limit") == "memory"]
  matrix = [r for r in rows if r.get("limit") == "matrix"]
  lines = [
      "Measured on %s, %s, driver for CUDA %d.%d, torch %s." % (
          machine["date"], machine["device"],
          machine["driver_cuda"] // 1000, machine["driver_cuda"] % 1000 // 10,
          machine["torch"]),
      "Copy of 1 GiB: %.0f GB/s read and written; bfloat16 product of 8192: "
      "%.0f TFLOP/s." % (
          machine["copy_gb_per_s"], machine["matrix_tflop_per_s"]),
      "",
      "| geometric mean of native/ours | rows | |",
      "|---|--:|--:|",
      "| bound by memory | %d | %.2f |" % (
          len(memory), geometric_mean(map(speedup, memory))),
      "| products and attention | %d | %.2f |" % (
          len(matrix), geometric_mean(map(speedup, matrix))),
      "| all | %d | %.2f |" % (len(rows), geometric_mean(map(speedup, rows))),
      "",
  ]
  for title, part in (("Bound by memory", memory),
                      ("Products and attention", matrix),
                      ("Others", [r for r in rows if "limit" not in r])):
    lines += ["### " + title, ""] + table(part, machine) + [""]
  lines += [
      "### Starting a small call from C++", "",
      "Host time until the call returns; nothing is waited for.", "",
      "| call | native ns | ours ns |", "|---|--:|--:|",
  ]
  lines += ["| %s | %.0f | %.0f |" % (r["name"], r["native_ns"], r["own_ns"])
            for r in results["launch"]]
  slower = [r for r in rows if speedup(r) < 0.98]
  below = [r for r in rows if r.get("goal") and
           rate(r, r["own_ms"]) / ceiling(r, machine) < r["goal"]]
  lines += ["", "### Slower than native by more than 2 %", ""]
  lines += ["- %s, %s: %.2f" % (r["name"], r["dtype"].lower(), speedup(r))
            for r in slower] or ["None."]
  lines += ["", "### Below their goal", ""]
  lines += ["- %s, %s: %.2f of %.2f" % (
      r["name"], r["dtype"].lower(),
      rate(r, r["own_ms"]) / ceiling(r, machine), r["goal"])
            for r in below] or ["None."]
  return "\n".join(lines) + "\n"


def main():
  if len(sys.argv) != 3:
    raise SystemExit(__doc__)
  with open(sys.argv[1]) as f:
    results = json.load(f)
  with open(sys.argv[2]) as f:
    doc = f.read()
  if _START not in doc or _END not in doc:
    raise SystemExit("%s has no line %r and %r" % (
        sys.argv[2], _START.strip(), _END.strip()))
  head, rest = doc.split(_START, 1)
  tail = rest.split(_END, 1)[1]
  with open(sys.argv[2], "w") as f:
    f.write(head + _START + "\n" + document(results) + "\n" + _END + tail)


if __name__ == "__main__":
  main()
