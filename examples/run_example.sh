#!/bin/bash
# run_example.sh SCRIPT PRECISION [ARGS...]: lets SCRIPT make a model and checks
# flaggems' own kernels on it: PRECISION run MODEL [--inputs=FILE] ARGS...
#
# SCRIPT prints the words after "run", one a line.
set -euo pipefail

script=$PWD/$1
precision=$PWD/$2
shift 2

if [[ -z ${FLAGGEMS_PYTHON:-} ]]; then
  echo "examples: FLAGGEMS_PYTHON is not set: start this with ./tools/bazel run, or set" \
    "it to a Python that has the packages of tools/setup.d/requirements*.txt" >&2
  exit 3
fi

# Relative paths in ARGS are the caller's, not those of Bazel's runfiles.
cd -- "${BUILD_WORKING_DIRECTORY:-$PWD}"

words=$("$FLAGGEMS_PYTHON" "$script") || exit 3
mapfile -t run_args <<<"$words"
echo "examples: precision run ${run_args[*]} --kernels=own $*" >&2
exec "$precision" run "${run_args[@]}" --kernels=own "$@"
