"""cudnn_frontend_configure: the headers of cuDNN's graph API for C++.

Searched in this order; the first folder that has cudnn_frontend.h wins:
  1. $CUDNN_FRONTEND      if it is set, nothing else is looked at
  2. $FLAGGEMS_PYTHON     the package nvidia-cudnn-frontend of that interpreter
  3. $LIBTORCH            that package beside the torch package
  4. python3 on PATH      that package of that interpreter
Nothing found: the repository still loads. Attention is then built without
cuDNN (own kernels only), and what names the target fails with one sentence.

Target: cudnn_frontend. defs.bzl has HAS_CUDNN_FRONTEND.
"""

_FOUND = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "cudnn_frontend",
    hdrs = ["include"],
    includes = ["include"],
)
"""

_MISSING = """
package(default_visibility = ["//visibility:public"])

genrule(
    name = "missing",
    outs = ["cudnn_frontend_missing.h"],
    cmd = "echo 'ERROR: cudnn_frontend was not found: set CUDNN_FRONTEND to a folder that has cudnn_frontend.h, or install the Python package nvidia-cudnn-frontend beside torch' >&2; exit 1",
)

cc_library(name = "cudnn_frontend", hdrs = [":missing"])
"""

# The wheel puts its headers into site-packages/include.
_INCLUDE = "import sysconfig; print(sysconfig.get_path('purelib') + '/include')"

def _include_of(ctx, python):
    result = ctx.execute([python, "-c", _INCLUDE])
    return result.stdout.strip() if result.return_code == 0 else ""

def _find(ctx):
    env = ctx.os.environ
    if env.get("CUDNN_FRONTEND"):
        candidates = [env["CUDNN_FRONTEND"]]
    else:
        candidates = []
        if env.get("FLAGGEMS_PYTHON"):
            candidates.append(_include_of(ctx, env["FLAGGEMS_PYTHON"]))
        if env.get("LIBTORCH"):
            candidates.append(env["LIBTORCH"] + "/../include")
        python = ctx.which("python3")
        if python:
            candidates.append(_include_of(ctx, python))
    for folder in candidates:
        if folder and ctx.path(folder + "/cudnn_frontend.h").exists:
            return folder
    return None

def _impl(ctx):
    folder = _find(ctx)
    if folder:
        # Only what belongs to it: others put headers into that folder, too.
        for name in ["cudnn_frontend.h", "cudnn_frontend", "thirdparty"]:
            if ctx.path(folder + "/" + name).exists:
                ctx.symlink(folder + "/" + name, "include/" + name)
        for path in ctx.path(folder).readdir():
            if path.basename.startswith("cudnn_") and path.basename.endswith(".h") and path.basename != "cudnn_frontend.h":
                ctx.symlink(path, "include/" + path.basename)
    ctx.file("BUILD.bazel", _FOUND if folder else _MISSING)
    ctx.file("defs.bzl", "HAS_CUDNN_FRONTEND = %r\n" % bool(folder))

cudnn_frontend_configure = repository_rule(
    implementation = _impl,
    environ = ["CUDNN_FRONTEND", "FLAGGEMS_PYTHON", "LIBTORCH", "PATH"],
    local = True,
)
