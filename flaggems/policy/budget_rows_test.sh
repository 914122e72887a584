#!/bin/bash
# budget_rows.inc is what make_budget_rows.py makes of op_policy.tsv, and the
# script refuses rows that it does not understand.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

if ! python3 make_budget_rows.py op_policy.tsv |
  diff -u budget_rows.inc - >"$TEST_TMPDIR/diff"; then
  head -n 20 "$TEST_TMPDIR/diff"
  echo "budget_rows.inc is not current: run" \
    "flaggems/policy/make_budget_rows.py flaggems/policy/op_policy.tsv" \
    ">flaggems/policy/budget_rows.inc"
  exit 1
fi

# refuses 'MESSAGE PART' 'LINE': a table of the header, one good row and LINE.
refuses() {
  {
    sed -n 1p op_policy.tsv
    printf 'aten::good\tsum\t0.5\t16\t1\t0\t-\t4+0.5n\tyes\t\n'
    printf "$2\n"
  } >"$TEST_TMPDIR/bad.tsv"
  if python3 make_budget_rows.py "$TEST_TMPDIR/bad.tsv" \
    >/dev/null 2>"$TEST_TMPDIR/message"; then
    echo "accepted: $2"
    exit 1
  fi
  if ! grep -F -- "line 3: " "$TEST_TMPDIR/message" | grep -qF -- "$1"; then
    echo "$2: expected \"$1\" at line 3, got:"
    cat "$TEST_TMPDIR/message"
    exit 1
  fi
}
refuses 'is no aten overload' 'add\tsum\t0.5\t16\t1\t0\t-\t-\tyes\t'
refuses 'has a row already' 'aten::good\tsum\t0.5\t16\t1\t0\t-\t-\tyes\t'
refuses '"sums" is no class' 'aten::x\tsums\t0.5\t16\t1\t0\t-\t-\tyes\t'
refuses '"-16" is no number' 'aten::x\tsum\t0.5\t-16\t1\t0\t-\t-\tyes\t'
refuses '"4+2" is neither' 'aten::x\tsum\t0.5\t16\t1\t0\t4+2\t-\tyes\t'
