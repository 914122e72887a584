#!/bin/bash
# opdb_test.py with the system's Python.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
exec python3 opdb_test.py
