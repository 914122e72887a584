#!/bin/bash
# Which headers and macros may be used where:
# - the torch-free packages include no torch header but torch/headeronly;
# - device code (.cu, .cuh) and its launch headers include no torch header but
#   torch/headeronly, with which nvcc takes 20 times as long;
# - glog is included in sink/glog_sink.cc alone;
# - CHECK and LOG, which both glog and c10 define, are used there alone.

set -u

# Prints "file:line:text" of every violation below $1, a flaggems/ folder.
violations() {
  local root=$1 package
  local torch='^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](ATen|c10|caffe2|torch)/'
  for package in config core policy comparator sink statistics; do
    [[ -d "$root/$package" ]] || continue
    grep -rnE --include='*.h' --include='*.cc' "$torch" "$root/$package" |
      grep -v '[<"]torch/headeronly/'
  done
  grep -rnE --include='*.cu' --include='*.cuh' --include='*_launch.h' \
    "$torch" "$root" | grep -v '[<"]torch/headeronly/'
  grep -rnE --include='*.h' --include='*.cc' --include='*.cu' \
    '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](glog|gflags)/' "$root" |
    grep -v '^[^:]*/sink/glog_sink\.cc:'
  # Comments do not count: what follows // is cut before the search.
  find "$root" \( -name '*.h' -o -name '*.cc' -o -name '*.cu' \) \
    ! -path '*/sink/glog_sink.cc' -exec awk '
      { code = $0; sub(/\/\/.*/, "", code) }
      code ~ /(^|[^A-Za-z0-9_])(D?CHECK(_[A-Z]+)*|D?V?LOG(_[A-Z_]+)?)[ ]*\(/ {
        print FILENAME ":" FNR ":" $0
      }' {} +
}

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# The search itself: each planted line must be found, each right one passed.
self=$TEST_TMPDIR/flaggems
mkdir -p "$self"/{core,sink,check,policy,comparator,kernels}
echo '#include "ATen/core/Tensor.h"' > "$self/core/a.h"
echo '#include <c10/util/Half.h>' > "$self/policy/b.cc"
echo '# include <torch/library.h>' > "$self/comparator/c.cc"
echo '#include "glog/logging.h"' > "$self/check/d.cc"
echo '  CHECK(x) << "no";' > "$self/check/e.cc"
echo '  if (y) LOG(WARNING) << "no";' > "$self/check/f.h"
echo '  DCHECK_EQ(x, 1);' > "$self/core/g.cc"
echo 'VLOG(1) << x;' > "$self/sink/h.cc"
echo '#include <ATen/Dispatch.h>' > "$self/kernels/i.cu"
echo '#include <c10/cuda/CUDAStream.h>' > "$self/kernels/j_launch.h"
found=$(violations "$self" | wc -l)
[[ $found -eq 10 ]] || fail "10 planted violations, found: $(violations "$self")"
rm -r "$self"
mkdir -p "$self"/{core,sink,check,kernels}
echo '#include <ATen/Dispatch.h>' > "$self/kernels/op.cc"
echo '#include "torch/headeronly/util/Half.h"' > "$self/core/a.h"
echo '#include "ATen/core/Tensor.h"' > "$self/check/b.cc"
printf '#include "glog/logging.h"\nLOG(WARNING) << 1;\n' \
  > "$self/sink/glog_sink.cc"
printf 'TORCH_CHECK(x); FG_CHECK(y); log(z);\n// not LOG(x)\n' \
  > "$self/check/c.cc"
[[ -z $(violations "$self") ]] || fail "found in right code: $(violations "$self")"

# The source tree: runfiles are links into it.
header=$(readlink -f flaggems/core/dtype.h)
root=$(dirname "$(dirname "$header")")
[[ -f $root/core/layering_test.sh ]] ||
  fail "the runfiles are no links into the source tree: $header"
count=$(find "$root" -name '*.h' | wc -l)
[[ $count -ge 10 ]] || fail "only $count headers below $root"
found=$(violations "$root")
[[ -z $found ]] || fail "against the layering:
$found"
echo "PASSED: $count headers and their sources"
