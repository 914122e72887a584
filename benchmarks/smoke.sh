#!/bin/bash
# Usage: smoke.sh BENCHMARK_BINARY
# Runs a benchmark briefly. Fails when the binary fails, when one of its
# benchmarks reports an error, or when none ran. Asserts nothing about time.
set -u

binary=$1
if ! output=$("$binary" --benchmark_min_time=0.001 --benchmark_color=false \
    --benchmark_format=console 2>&1); then
  printf '%s\n' "$output"
  echo "smoke.sh: $binary failed" >&2
  exit 1
fi
printf '%s\n' "$output"
if grep -q 'ERROR OCCURRED' <<<"$output"; then
  echo "smoke.sh: a benchmark of $binary reported an error" >&2
  exit 1
fi
if ! grep -q '^BM_.* ns ' <<<"$output"; then
  echo "smoke.sh: $binary ran no benchmark" >&2
  exit 1
fi
