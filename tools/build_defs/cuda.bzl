"""CUDA rules: cuda_library, and requires_cuda() for what depends on one.

A .cu file includes no torch header (one with torch/library.h takes nvcc 20
times as long): a launch header with plain pointers stands between it and the
C++ beside it, and everything that includes only that header is a cc_library.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@libtorch//:defs.bzl", "HAS_CUDA")
load("@local_config_cuda//:defs.bzl", "CUDA_ROOT", "HAS_CUDA_TOOLKIT")
load(":flags.bzl", "StringFlagInfo")

_CAN_BUILD_CUDA = HAS_CUDA_TOOLKIT and HAS_CUDA

def if_cuda(values):
    """`values` where requires_cuda() targets are built, else an empty list."""
    if not _CAN_BUILD_CUDA:
        return []
    return select({
        str(Label("//:cuda_disabled")): [],
        "//conditions:default": values,
    })

def requires_cuda():
    """For target_compatible_with: skipped by //... where CUDA cannot be built.

    That is without a CUDA toolkit, with a libtorch that has no CUDA, and with
    --//:enable_cuda=false. Naming a skipped target is an error.
    """
    incompatible = [Label("//:incompatible")]
    if not _CAN_BUILD_CUDA:
        return incompatible

    # As text: select() takes no Label before Bazel 6.
    return select({
        str(Label("//:cuda_disabled")): incompatible,
        "//conditions:default": [],
    })

def _gencode_flags(label, archs):
    flags = []
    for arch in archs:
        # 90a and 100f are architectures, too.
        if not arch.rstrip("af").isdigit():
            fail("%s: //tools/build_defs:cuda_archs: \"%s\" is no compute capability; write them as 80,90" % (label, arch))
        flags.append("-gencode=arch=compute_%s,code=sm_%s" % (arch, arch))
    return flags + ["-gencode=arch=compute_%s,code=compute_%s" % (archs[-1], archs[-1])]

# nvcc names its temporary files by its process id, which is the same in
# different sandboxes that share /tmp: each action has a TMPDIR of its own.
_COMPILE = """
set -eu
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
"$@" -objtemp
"""

def _compile(ctx, cc_toolchain, src, headers, context):
    obj = ctx.actions.declare_file("_objs/%s/%s.pic.o" % (
        ctx.label.name,
        src.basename[:-len(".cu")],
    ))
    optimize = ctx.var["COMPILATION_MODE"] != "dbg"
    args = ctx.actions.args()
    args.add(CUDA_ROOT + "/bin/nvcc")
    args.add_all(["-c", "-std=c++17", "-x", "cu"])
    args.add_all(["-ccbin", cc_toolchain.compiler_executable])
    args.add_all(["-O3"] if optimize else ["-O0", "-g", "-lineinfo"])
    if ctx.var["COMPILATION_MODE"] == "opt":
        args.add("-DNDEBUG")
    args.add_all(["-Xcompiler", "-Wall,-Wextra,-fPIC"])
    args.add_all(_gencode_flags(ctx.label, [
        arch.strip()
        for arch in ctx.attr._archs[StringFlagInfo].value.split(",")
    ]))
    args.add_all(context.defines, format_each = "-D%s")
    args.add_all(context.local_defines, format_each = "-D%s")
    args.add_all(context.quote_includes, before_each = "-I")
    args.add_all(context.includes, before_each = "-I")
    args.add_all(context.system_includes, before_each = "-isystem")
    args.add_all(ctx.attr.copts)
    args.add(src)
    args.add("-o", obj)
    ctx.actions.run_shell(
        command = _COMPILE,
        arguments = [args],
        outputs = [obj],
        inputs = depset([src] + headers, transitive = [context.headers]),
        tools = cc_toolchain.all_files,
        mnemonic = "CudaCompile",
        progress_message = "Compiling CUDA %s" % src.short_path,
        use_default_shell_env = True,
    )
    return obj

def _cuda_library_impl(ctx):
    cc_toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    # Labels are relative to the workspace's root, in any repository.
    root = ctx.label.workspace_root or "."
    own = cc_common.create_compilation_context(
        headers = depset(ctx.files.hdrs),
        quote_includes = depset([
            root,
            ctx.bin_dir.path + ("/" + root if root != "." else ""),
        ]),
        defines = depset(ctx.attr.defines),
    )
    context = cc_common.merge_cc_infos(
        cc_infos = [CcInfo(compilation_context = own)] +
                   [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context

    sources = [src for src in ctx.files.srcs if src.extension == "cu"]
    private_headers = [src for src in ctx.files.srcs if src.extension != "cu"]

    # One set of objects, position independent, serves executables and shared
    # libraries alike.
    objects = [
        _compile(ctx, cc_toolchain, src, private_headers, context)
        for src in sources
    ]
    linking_context, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = depset(objects),
            pic_objects = depset(objects),
        ),
        disallow_dynamic_library = True,
        alwayslink = ctx.attr.alwayslink,
        linking_contexts = [dep[CcInfo].linking_context for dep in ctx.attr.deps],
    )
    return [
        DefaultInfo(files = depset(objects)),
        CcInfo(compilation_context = context, linking_context = linking_context),
    ]

_cuda_library = rule(
    implementation = _cuda_library_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu", ".cuh", ".h"]),
        "hdrs": attr.label_list(allow_files = [".cuh", ".h"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
        "defines": attr.string_list(),
        "alwayslink": attr.bool(),
        "_archs": attr.label(
            default = Label("//tools/build_defs:cuda_archs"),
            providers = [StringFlagInfo],
        ),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    provides = [CcInfo],
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def cuda_library(name, deps = [], target_compatible_with = [], **kwargs):
    """A library of .cu files that any cc_* target can depend on.

    Skipped where requires_cuda() says so; what depends on it is skipped with
    it.

    Args:
      name: of the target.
      deps: cc_library or cuda_library targets; the CUDA runtime is added.
      target_compatible_with: further constraints.
      **kwargs: srcs (.cu, private headers), hdrs, copts (words for nvcc),
        defines, alwayslink, and what every rule has.
    """
    _cuda_library(
        name = name,
        deps = deps + [Label("@local_config_cuda//:cudart")],
        target_compatible_with = requires_cuda() + target_compatible_with,
        **kwargs
    )
