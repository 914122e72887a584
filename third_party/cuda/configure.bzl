"""cuda_configure: the targets of an installed CUDA toolkit.

Searched in this order: $CUDA_PATH, $CUDA_HOME, nvcc on PATH, /usr/local/cuda.
The same targets exist without a toolkit; targets that need one set
target_compatible_with = requires_cuda() and are then skipped by //..., as
they are when --//:enable_cuda=false.

Targets:
  headers      the toolkit's headers
  cudart       the runtime library
Also defs.bzl: CUDA_ROOT and HAS_CUDA_TOOLKIT, read by tools/build_defs/cuda.bzl.
"""

def _find(ctx):
    candidates = [ctx.os.environ.get("CUDA_PATH"), ctx.os.environ.get("CUDA_HOME")]
    nvcc = ctx.which("nvcc")
    if nvcc:
        candidates.append(str(nvcc.realpath.dirname.dirname))
    candidates.append("/usr/local/cuda")
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
