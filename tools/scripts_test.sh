#!/bin/bash
# tools/setup, tools/bazel and tools/python with a stand-in for Bazel, libtorch
# and Python. FLAGGEMS_SETUP=off everywhere: nothing is ever installed.
set -uo pipefail

tools=$PWD/tools
work=$TEST_TMPDIR
checkout=$(readlink -f -- "$tools/setup")
checkout=${checkout%/tools/setup}
failures=0

unset LIBTORCH FLAGGEMS_PYTHON FLAGGEMS_VENV FLAGGEMS_DISK_CACHE CUDA_PATH
export FLAGGEMS_SETUP=off HOME=$work/home XDG_CACHE_HOME=$work/cache
mkdir -p "$HOME" "$work/torch/include/c10" "$work/bin" "$work/workspace/sub"
touch "$work/workspace/WORKSPACE"

# Prints its arguments, one a line in brackets, and ends with exit code 7.
cat >"$work/bin/stand_in" <<'EOF'
#!/bin/bash
printf '[%s]\n' "$@"
echo "libtorch=${LIBTORCH:-} python=${FLAGGEMS_PYTHON:-} path=${PYTHONPATH:-}"
exit 7
EOF
chmod +x "$work/bin/stand_in"
cd "$work/workspace/sub"

# check NAME WANT_RC WANT_LINES COMMAND...: WANT_LINES must be in the output,
# one after the other without a gap.
check() {
  local name=$1 want_rc=$2 want=$3 got rc
  shift 3
  got=$("$@" 2>&1)
  rc=$?
  if ((rc != want_rc)) || [[ $got != *"$want"* ]]; then
    printf '%s: exit code %d, output:\n%s\nwant exit code %d and:\n%s\n\n' \
      "$name" "$rc" "$got" "$want_rc" "$want" >&2
    ((failures += 1))
  fi
}

lines() { printf '%s\n' "$@"; }

# --- tools/bazel -----------------------------------------------------------
export BAZEL_REAL=$work/bin/stand_in LIBTORCH=$work/torch
cache="[--disk_cache=$XDG_CACHE_HOME/flaggems/bazel-disk]"

check "arguments untouched" 7 \
  "$(lines '[test]' "$cache" '[a b]' '[]' "[\"q\"'s]" '[*]' '[--]' '[-x]')" \
  "$tools/bazel" test 'a b' '' "\"q\"'s" '*' -- -x
check "value of a startup option is no command" 7 \
  "$(lines '[--output_base]' '[test]' '[--batch]' '[run]' "$cache" '[//x]')" \
  "$tools/bazel" --output_base test --batch run //x
check "own cache wins" 7 "$(lines '[build]' '[--disk_cache=/own]' '[//x]')" \
  "$tools/bazel" build --disk_cache=/own //x
check "a cache after -- is the program's" 7 \
  "$(lines '[run]' "$cache" '[//x]' '[--]' '[--disk_cache=p]')" \
  "$tools/bazel" run //x -- --disk_cache=p
check "no cache for query" 7 "$(lines '[query]' '[//x]')" "$tools/bazel" query //x
check "cache off" 7 "$(lines '[test]' '[//x]')" \
  env FLAGGEMS_DISK_CACHE= "$tools/bazel" test //x
check "no argument" 7 "[]" "$tools/bazel"
check "libtorch reaches the build" 7 "libtorch=$work/torch python=" \
  "$tools/bazel" build
echo "build --disk_cache=/of/user" >"$work/workspace/user.bazelrc"
check "cache of user.bazelrc wins" 7 "$(lines '[test]' '[//x]')" \
  "$tools/bazel" test //x
rm "$work/workspace/user.bazelrc"

mkdir "$work/launcher"
cp "$work/bin/stand_in" "$work/launcher/bazel-4"
ln -s "$tools/bazel" "$work/launcher/bazel"
check "no loop through itself" 7 "$(lines '[version]')" \
  env BAZEL_REAL="$tools/bazel" PATH="$work/launcher:$work/other:$PATH" bash -c \
  'mkdir -p "$0/other" && cp "$0/bin/stand_in" "$0/other/bazel" && exec "$1" version' \
  "$work" "$tools/bazel"

# --- tools/setup -----------------------------------------------------------
check "no such libtorch" 1 "LIBTORCH=/nowhere has no include/c10" \
  env LIBTORCH=/nowhere "$tools/setup"
check "no such Python" 1 "FLAGGEMS_PYTHON=/nowhere is no program" \
  env FLAGGEMS_PYTHON=/nowhere "$tools/setup"
check "unknown argument" 2 "unknown argument: --frob" "$tools/setup" --frob
check "help" 0 "usage: tools/setup" "$tools/setup" --help
unset LIBTORCH
check "says how to make the venv" 1 "-m pip install -r requirements.txt" \
  "$tools/setup"
check "the venv is named by the version" 1 "$XDG_CACHE_HOME/flaggems/venv-2." \
  "$tools/setup"
mkdir "$work/few"
for program in bash cat readlink sha256sum; do
  ln -s "$(type -P $program)" "$work/few/$program"
done
check "names the packages" 1 "  g++: C++17 compiler" \
  env PATH="$work/few" "$tools/setup"
check "goes on where nothing may be installed" 7 "going on" \
  "$tools/bazel" test //x
check "a half-made venv is missing" 1 "missing libtorch" \
  env FLAGGEMS_VENV="$work/half" bash -c 'mkdir -p "$FLAGGEMS_VENV/bin"; exec "$0"' \
  "$tools/setup"

# --- tools/python ----------------------------------------------------------
check "arguments and path" 7 \
  "$(lines '[-c]' '[a b]' "libtorch= python=$work/bin/stand_in path=$checkout/flaggems/python:/mine")" \
  env FLAGGEMS_PYTHON="$work/bin/stand_in" PYTHONPATH=/mine "$tools/python" -c 'a b'
check "libtorch without a Python" 1 "set FLAGGEMS_PYTHON" \
  env LIBTORCH="$work/torch" "$tools/python" -c ''
prefix=$work/env
mkdir -p "$prefix/bin" "$prefix/lib/python3.11/site-packages/torch/include/c10"
cp "$work/bin/stand_in" "$prefix/bin/python3"
check "the Python beside libtorch" 7 "python=$prefix/bin/python3" \
  env LIBTORCH="$prefix/lib/python3.11/site-packages/torch" "$tools/python"

((failures == 0))
