"""cuda_configure: the targets of an installed CUDA toolkit.

Searched in this order; the first folder that has bin/nvcc wins:
  1. $CUDA_PATH      if it is set, nothing else is looked at; a folder without a
                     toolkit therefore means "build without CUDA"
  2. $CUDA_HOME
  3. nvcc on PATH
  4. /usr/local/cuda
The same targets exist without a toolkit; targets that need one set
target_compatible_with = requires_cuda() (tools/build_defs/cuda.bzl) and are
then skipped by //..., as they are with --//:enable_cuda=false.

Targets:
  headers      the toolkit's headers
  cudart       the runtime library
Also defs.bzl: CUDA_ROOT and HAS_CUDA_TOOLKIT, read by tools/build_defs/cuda.bzl.
"""

def _find(ctx):
    chosen = ctx.os.environ.get("CUDA_PATH")
    if chosen:
        candidates = [chosen]
    else:
        nvcc = ctx.which("nvcc")
        candidates = [
            ctx.os.environ.get("CUDA_HOME"),
            str(nvcc.realpath.dirname.dirname) if nvcc else None,
            "/usr/local/cuda",
        ]
    for root in candidates:
        if root and ctx.path(root + "/bin/nvcc").exists:
            return root
    return None

_FOUND = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = ["include"],
    includes = ["include"],
)

cc_library(
    name = "cudart",
    linkopts = [
        "-L{root}/lib64",
        "-Wl,-rpath,{root}/lib64",
        "-lcudart",
    ],
    deps = [":headers"],
)
"""

_MISSING = """
package(default_visibility = ["//visibility:public"])

cc_library(name = "headers")

cc_library(name = "cudart")
"""

def _impl(ctx):
    root = _find(ctx)
    if root:
        ctx.symlink(root + "/include", "include")
    ctx.file("BUILD.bazel", _FOUND.format(root = root) if root else _MISSING)
    ctx.file("defs.bzl", "CUDA_ROOT = %r\nHAS_CUDA_TOOLKIT = %r\n" % (root or "", bool(root)))

cuda_configure = repository_rule(
    implementation = _impl,
    environ = ["CUDA_PATH", "CUDA_HOME", "PATH"],
    local = True,
)
