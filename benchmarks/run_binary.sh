#!/bin/bash
# Usage: run_binary.sh BINARY ARGUMENT...
# A test that holds if the program exits with 0.
exec "$@"
