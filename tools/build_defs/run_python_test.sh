#!/bin/bash
# run_python_test.sh PYTHON SCRIPT: runs a test script with flaggems on its path.
set -euo pipefail

python=$1
script=$2
shift 2

# Not the checkout's library, which may be of another configuration.
export FLAGGEMS_LIBRARY=$PWD/flaggems/library/libflaggems.so
export PYTHONPATH=$PWD/flaggems/python
# The folders of the build are not to be written to.
export PYTHONDONTWRITEBYTECODE=1
# A log whose path a test forgot.
export HOME=$TEST_TMPDIR
exec "$python" "$script" --verbose "$@"
