"""libtorch_configure: the targets of an installed libtorch.

Searched in this order; the first folder that has include/c10 wins:
  1. $LIBTORCH            a libtorch folder (<site-packages>/torch of a wheel);
                          if it is set, nothing else is looked at
  2. $FLAGGEMS_PYTHON     the torch package of that interpreter
  3. python3 on PATH      the torch package of that interpreter
Nothing found: the repository still loads, and a target that needs libtorch
fails to build with one sentence on what to set.

Targets:
  headers     all public headers; no library
  torch_cpu   libc10 and libtorch_cpu
  torch_cuda  those and libc10_cuda, libtorch_cuda (only with a CUDA build of
              libtorch; check has_cuda in defs.bzl)

defs.bzl has LIBTORCH (the folder, or empty), HAS_CUDA, and PYTHON: the
interpreter that this libtorch is the torch package of, or empty.
"""

_FOUND = """
package(default_visibility = ["//visibility:public"])

# One directory label: a glob over 9,400 headers costs a symlink each per
# sandboxed compile.
cc_library(
    name = "headers",
    hdrs = ["include"],
    includes = [
        "include",
        "include/torch/csrc/api/include",
    ],
)

# The libraries stay where they are (-rpath): they find their CUDA and OpenMP
# neighbours relative to themselves.
cc_library(
    name = "torch_cpu",
    linkopts = [
        "-L{lib}",
        "-Wl,-rpath,{lib}",
        "-Wl,--no-as-needed",
        "-ltorch_cpu",
        "-Wl,--as-needed",
        "-lc10",
        # For code of ours that is compiled with -fopenmp, as torch's own is.
        "-l{openmp}",
        # What those libraries need beyond c10 lies outside this folder.
        "-Wl,--unresolved-symbols=ignore-in-shared-libs",
    ],
    deps = [":headers"],
)
"""

# libtorch_cuda registers its kernels when it is loaded; no symbol of it is
# named, so --as-needed would drop it.
_FOUND_CUDA = """
cc_library(
    name = "torch_cuda",
    linkopts = [
        "-Wl,--no-as-needed",
        "-ltorch_cuda",
        "-Wl,--as-needed",
        "-lc10_cuda",
    ],
    deps = [":torch_cpu"],
)
"""

_MISSING = """
package(default_visibility = ["//visibility:public"])

genrule(
    name = "missing",
    outs = ["include/ATen/libtorch_not_found.h"],
    cmd = "echo 'ERROR: libtorch was not found: set LIBTORCH to a folder that has include/c10 and lib/libtorch_cpu.so (for a pip install: <site-packages>/torch), or build through tools/bazel, which installs it' >&2; exit 1",
)

cc_library(name = "headers", hdrs = [":missing"])

cc_library(name = "torch_cpu", deps = [":headers"])
"""

def _torch_of(ctx, python):
    result = ctx.execute([python, "-c", "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"])
    return result.stdout.strip() if result.return_code == 0 else ""

def _find(ctx):
    env = ctx.os.environ
    pythons = [env.get("FLAGGEMS_PYTHON"), ctx.which("python3")]
    if env.get("LIBTORCH"):
        candidates = [env["LIBTORCH"]]
    else:
        candidates = [_torch_of(ctx, python) for python in pythons if python]
    for root in candidates:
        if root and ctx.path(root + "/include/c10").exists:
            return root, _python_of(ctx, root, pythons)
    return None, ""

def _python_of(ctx, root, pythons):
    # In a venv, the interpreter beside the folder <prefix>/lib/python3.x.
    prefix = root.rsplit("/lib/python", 1)[0]
    for python in pythons + [prefix + "/bin/python3"]:
        if python and "/" not in str(python):
            python = ctx.which(python)
        if python and ctx.path(python).exists and _same(ctx, _torch_of(ctx, python), root):
            return str(python)
    return ""

def _same(ctx, folder, other):
    return folder and ctx.path(folder).realpath == ctx.path(other).realpath

def _impl(ctx):
    root, python = _find(ctx)
    has_cuda = bool(root) and ctx.path(root + "/lib/libtorch_cuda.so").exists
    if root:
        ctx.symlink(root + "/include", "include")
        text = _FOUND.format(
            lib = root + "/lib",
            # A wheel brings the runtime that its libraries were linked with.
            openmp = ":libgomp.so.1" if ctx.path(root + "/lib/libgomp.so.1").exists else "gomp",
        ) + (_FOUND_CUDA if has_cuda else "")
    else:
        text = _MISSING
    if not has_cuda:
        text += "\ncc_library(name = \"torch_cuda\", deps = [\":torch_cpu\"])\n"
    ctx.file("BUILD.bazel", text)
    ctx.file("defs.bzl", "LIBTORCH = %r\nHAS_CUDA = %r\nPYTHON = %r\n" % (
        root or "",
        has_cuda,
        python,
    ))

libtorch_configure = repository_rule(
    implementation = _impl,
    environ = ["LIBTORCH", "FLAGGEMS_PYTHON", "PATH"],
    local = True,
)
