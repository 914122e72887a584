# Sourced by tools/setup, tools/bazel and tools/python: where things are.
# Starts no Python and few processes, since tools/bazel runs it on every call.
# The caller names it by its absolute path.
#
# Sets:
#   fg_root     the checkout
#   fg_cache    what clones share: ${XDG_CACHE_HOME:-~/.cache}/flaggems
#   fg_python3  the Python that makes the venv (Debian's own before others)
#   fg_venv     the venv that belongs to this checkout's requirements; it may
#               not exist yet, it is whole if it holds the file .complete

fg_root=${BASH_SOURCE[0]%/tools/setup.d/paths.sh}
HOME=${HOME:-$(echo ~)}
fg_cache=${XDG_CACHE_HOME:-$HOME/.cache}/flaggems

fg_python3=/usr/bin/python3
[[ -x $fg_python3 ]] || fg_python3=$(type -P python3 || true)

# fg_find_venv: sets fg_venv and fg_python_version. The name has all that
# decides what is inside, so a changed requirement is another folder and clones
# with the same requirements share one.
fg_find_venv() {
  fg_python_version=$(readlink -f -- "${fg_python3:-/usr/bin/python3}")
  fg_python_version=${fg_python_version##*/python}
  if [[ ! $fg_python_version =~ ^3\.[0-9]+$ ]]; then
    fg_python_version=$("${fg_python3:-false}" -c \
      'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo 3)
  fi
  local name text requirements=$fg_python_version hash
  for name in requirements constraints requirements-no-deps; do
    # read fails at the end of the file, having read all of it.
    read -r -d '' text <"$fg_root/tools/setup.d/$name.txt" || true
    requirements+=$'\n'$text
  done
  fg_torch_version=${requirements##*$'\n'torch==}
  fg_torch_version=${fg_torch_version%%[$'\n ']*}
  hash=$(sha256sum <<<"$requirements")
  fg_venv=${FLAGGEMS_VENV:-$fg_cache/venv-$fg_torch_version-${hash:0:10}}
}

# fg_find_python: sets LIBTORCH and FLAGGEMS_PYTHON to what the user chose,
# else to the venv's if it is whole; either may stay empty.
fg_find_python() {
  if [[ -n ${LIBTORCH:-} && -z ${FLAGGEMS_PYTHON:-} ]]; then
    # <prefix>/lib/python3.x/site-packages/torch: that prefix's interpreter.
    local prefix=${LIBTORCH%/lib/python3*/site-packages/torch*}
    if [[ $prefix != "$LIBTORCH" && -x $prefix/bin/python3 ]]; then
      FLAGGEMS_PYTHON=$prefix/bin/python3
    fi
  fi
  if [[ -z ${LIBTORCH:-} && -z ${FLAGGEMS_PYTHON:-} && -e $fg_venv/.complete ]]; then
    LIBTORCH=$fg_venv/lib/python$fg_python_version/site-packages/torch
    FLAGGEMS_PYTHON=$fg_venv/bin/python3
  fi
  LIBTORCH=${LIBTORCH:-}
  FLAGGEMS_PYTHON=${FLAGGEMS_PYTHON:-}
}
