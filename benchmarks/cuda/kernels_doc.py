#!/usr/bin/env python3
"""Puts results of the programs for CUDA kernels into docs/kernels.md.

  kernels_doc.py RESULTS.json DOC.md

RESULTS.json is the output of kernels_cuda_benchmark or kernels_cuda_accuracy.
Replaces what stands between the markers "<!-- results -->" and
"<!-- end of results -->" of DOC.md, or "<!-- errors -->" and
"<!-- end of errors -->"; the text around them is written by hand. Fails if a row
has no numbers, or if the results of ours and of native differ too much to have
been measured.
"""

import json
import math
import sys

# How much larger than native's an error of ours has to be to be listed: by this
# factor and this many spacings. Maxima of two correct kernels differ by chance.
_WORSE = 1.05
_WORSE_BY = 0.01


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


def is_left_to_torch(row):
  """Ours declines the call, and torch's kernel computes it."""
  return "left to aten" in row.get("error", "")


def fail_without_numbers(rows):
  broken = [r for r in rows if "error" in r and not is_left_to_torch(r)]
  if broken:
    raise SystemExit("no numbers for: " + "; ".join(
        "%s %s: %s" % (r["name"], r["dtype"], r["error"].splitlines()[0])
        for r in broken))


def number(value):
  """Three digits; JSON's null is an infinity or NaN."""
  return "not finite" if value is None else "%.3g" % value


def is_worse(row, measure):
  own, native = row["own"].get(measure), row["native"].get(measure)
  if measure not in row["own"] or native is None:
    return False
  if own is None:
    return True
  return own > native * _WORSE and own > native + _WORSE_BY


def judged(row):
  """The measures by which ours and native are compared: rms and one maximum."""
  return ("rms", "cond" if "cond" in row["own"] else "ulp")


def errors_document(errors):
  """The generated part of kernels_cuda_accuracy, as text."""
  rows = errors["rows"]
  fail_without_numbers(rows)
  left = [r for r in rows if is_left_to_torch(r)]
  rows = [r for r in rows if not is_left_to_torch(r)]
  lines = [
      "Measured on %s, %s, torch %s." % (
          errors["date"], errors["device"], errors["torch"]),
      "",
      "| call | dtype | native ulp | ours ulp | native rms | ours rms |"
      " native cond | ours cond |",
      "|---|---|--:|--:|--:|--:|--:|--:|",
  ]
  for row in rows:
    cells = []
    for measure in ("ulp", "rms", "cond"):
      for side in ("native", "own"):
        cell = number(row[side][measure]) if measure in row[side] else ""
        worse = side == "own" and measure in judged(row)
        cells.append("**%s**" % cell
                     if worse and is_worse(row, measure) else cell)
    lines.append("| %s | %s | %s |" % (
        row["name"], row["dtype"].lower(), " | ".join(cells)))
  if left:
    lines += ["", "Left to torch's kernel: %s." % ", ".join(
        "%s, %s" % (r["name"], r["dtype"].lower()) for r in left)]
  worse = [(r, m) for r in rows for m in judged(r) if is_worse(r, m)]
  lines += ["", "#### Larger than native's", ""]
  lines += ["- %s, %s: %s %s, native %s" % (
      r["name"], r["dtype"].lower(), m, number(r["own"][m]),
      number(r["native"][m])) for r, m in worse] or ["None."]
  return "\n".join(lines) + "\n"


def replace_part(doc, name, part, path):
  """doc with `part` between its markers of the name."""
  start, end = "<!-- %s -->\n" % name, "<!-- end of %s -->\n" % name
  if start not in doc or end not in doc:
    raise SystemExit("%s has no line %r and %r" % (
        path, start.strip(), end.strip()))
  head, rest = doc.split(start, 1)
  return head + start + "\n" + part + "\n" + end + rest.split(end, 1)[1]


def document(results):
  """The generated part of kernels_cuda_benchmark, as text."""
  machine = results["machine"]
  rows = results["rows"]
  fail_without_numbers(rows)
  differing = [r for r in rows if not r.get("agrees", True)]
  if differing:
    raise SystemExit("ours and native differ: " + "; ".join(
        "%s %s" % (r["name"], r["dtype"]) for r in differing))
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
  if "errors" in results:
    doc = replace_part(doc, "errors", errors_document(results["errors"]),
                       sys.argv[2])
  else:
    doc = replace_part(doc, "results", document(results), sys.argv[2])
  with open(sys.argv[2], "w") as f:
    f.write(doc)


if __name__ == "__main__":
  main()
