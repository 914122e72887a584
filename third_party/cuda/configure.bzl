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
  cublaslt     cuBLASLt, matrix products
  cudnn        cuDNN 9; not part of every toolkit (HAS_CUDNN): without its
               headers, building what includes it stops with one sentence
  nvrtc        the run-time compiler, which cudnn-frontend's headers name
At run time the libraries of torch's wheel serve as well: the names are the
same.
Also defs.bzl: CUDA_ROOT, HAS_CUDA_TOOLKIT, read by tools/build_defs/cuda.bzl,
and HAS_CUDNN.
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

_LIBRARY = """
cc_library(
    name = "{name}",
    linkopts = ["-l{link}"],
    deps = [":cudart"],
)
"""

_NO_LIBRARY = """
genrule(
    name = "{name}_missing",
    outs = ["{name}_missing.h"],
    cmd = "echo 'ERROR: the CUDA toolkit in {root} has no include/{header}: install {what} into it, or set CUDA_PATH to a toolkit that has it' >&2; exit 1",
)

cc_library(
    name = "{name}",
    hdrs = [":{name}_missing"],
    deps = [":cudart"],
)
"""

# name, -l, header, what to install
_LIBRARIES = [
    ("cublaslt", "cublasLt", "cublasLt.h", "cuBLAS"),
    ("cudnn", "cudnn", "cudnn.h", "cuDNN 9"),
    ("nvrtc", "nvrtc", "nvrtc.h", "NVRTC"),
]

_MISSING = """
package(default_visibility = ["//visibility:public"])

cc_library(name = "headers")

cc_library(name = "cudart")

cc_library(name = "cublaslt")

cc_library(name = "cudnn")

cc_library(name = "nvrtc")
"""

def _impl(ctx):
    root = _find(ctx)
    text = _MISSING
    has_cudnn = False
    if root:
        ctx.symlink(root + "/include", "include")
        text = _FOUND.format(root = root)
        for name, link, header, what in _LIBRARIES:
            there = ctx.path(root + "/include/" + header).exists
            text += (_LIBRARY if there else _NO_LIBRARY).format(
                name = name,
                link = link,
                header = header,
                what = what,
                root = root,
            )
            has_cudnn = has_cudnn or (there and name == "cudnn")
    ctx.file("BUILD.bazel", text)
    ctx.file("defs.bzl", "CUDA_ROOT = %r\nHAS_CUDA_TOOLKIT = %r\nHAS_CUDNN = %r\n" % (
        root or "",
        bool(root),
        has_cudnn,
    ))

cuda_configure = repository_rule(
    implementation = _impl,
    environ = ["CUDA_PATH", "CUDA_HOME", "PATH"],
    local = True,
)
