#!/bin/bash
# Counts recorded logs of Bazel 4.2.3.
set -uo pipefail

script=$1
testdata=$(dirname -- "$script")/testdata
failures=0

# counts RC LOG WANT
counts() {
  local got
  got=$(awk -v rc="$1" -f "$script" "$2")
  if [[ $got != "$3" ]]; then
    echo "$2 with exit code $1: got \"$got\", want \"$3\"" >&2
    ((failures += 1))
  fi
}

# Passed, flaky; failed, one shard failed, timed out, failed to build; skipped.
counts 1 "$testdata/mixed.log" "3 4 1"
counts 0 "$testdata/cached.log" "2 0 0"
# Without --keep_going: tests without a result are failures.
counts 1 "$testdata/no_keep_going.log" "0 3 0"
# Tests pass and a library does not build; no test; no package.
counts 1 "$testdata/library.log" "1 1 0"
counts 4 "$testdata/none.log" "0 1 0"
counts 1 "$testdata/noload.log" "0 1 0"
# A log that broke off: the exit code alone speaks.
counts 37 /dev/null "0 1 0"

((failures == 0))
