# Counts the test targets of a `bazel test` log; prints "PASSED FAILED SKIPPED".
#
#   awk -v rc=EXIT_CODE -f count_results.awk LOG
#
# Read are the lines of Bazel's summary, one a target:
#   //a:b        PASSED in 0.1s        (also "(cached) PASSED")
#   //a:b        FAILED in 2 out of 3 in 1.0s
#   //a:b        FLAKY, failed in 1 out of 2 in 0.2s      (passed in the end)
#   //a:b        TIMEOUT in 60.0s
#   //a:b        NO STATUS, FAILED TO BUILD, INCOMPLETE, REMOTE FAILURE
#   //a:b        SKIPPED
# Bazel's closing sentence has other numbers, depending on what went wrong. A
# Bazel that failed although no target did counts as one failure: something
# that is no test does not build, or there was nothing to test.

$1 ~ /^@?[A-Za-z0-9_.-]*\/\// {
  status = $2 == "(cached)" ? $3 : $2
  if (status ~ /^(PASSED|FLAKY,?)$/) result[$1] = "passed"
  else if (status == "SKIPPED") result[$1] = "skipped"
  else if (status ~ /^(FAILED|TIMEOUT|INCOMPLETE)$/) result[$1] = "failed"
  else if (status == "NO" && $3 == "STATUS") result[$1] = "failed"
  else if (status == "REMOTE" && $3 == "FAILURE") result[$1] = "failed"
}

END {
  for (target in result) ++count[result[target]]
  if (rc != 0 && count["failed"] == 0) count["failed"] = 1
  print count["passed"] + 0, count["failed"] + 0, count["skipped"] + 0
}
