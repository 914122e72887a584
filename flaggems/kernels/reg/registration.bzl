"""Registration leaves and the list of kernels, generated from OPS."""

load("//flaggems/kernels:cuda_ops.bzl", "CUDA_OPS")
load("//flaggems/kernels:ops.bzl", "OPS")
load("//tools/build_defs:cc.bzl", "flaggems_cc_library")
load("//tools/build_defs:cuda.bzl", "requires_cuda")

# partial: kernels that leave some dtypes to native aten.
_BACKENDS = {
    "cpu": struct(
        enumerator = "::flaggems::Backend::kCpu",
        ops = OPS,
        partial = False,
        compatible_with = [],
    ),
    "cuda": struct(
        enumerator = "::flaggems::Backend::kCuda",
        ops = CUDA_OPS,
        partial = True,
        compatible_with = requires_cuda(),
    ),
}

def _generated_file(name, out, text):
    native.genrule(
        name = name,
        outs = [out],
        cmd = "cat > $@ <<'END_OF_FILE'\n" + text.replace("$", "$$") + "END_OF_FILE",
    )

def _identifier(op):
    return op.replace("aten::", "").replace("::", "_").replace(".", "_")

def registration_targets(backend):
    """One alwayslink library per row of a table, and reg_<backend> with all.

    A row's library registers its kernels when it is linked; linking one row
    alone is fine.
    """
    leaves = []
    of = _BACKENDS[backend]
    macro = "FLAGGEMS_REGISTER_PARTIAL_KERNEL" if of.partial else "FLAGGEMS_REGISTER_KERNEL"
    for row in of.ops:
        name = "op_%s_%s_reg" % (row.name, backend)
        lines = [
            "// Registers the kernels of op_%s for the %s backend." % (row.name, backend),
            "#include \"flaggems/kernels/%s/op_%s.h\"" % (backend, row.name),
            "#include \"flaggems/registry/register_kernel.h\"",
            "",
        ]
        for op in sorted(row.kernels):
            lines.append("%s(%s_%s, \"%s\", %s, &::flaggems::kernels::%s::%s);" % (
                macro,
                _identifier(op),
                backend,
                op,
                of.enumerator,
                backend,
                row.kernels[op],
            ))
        _generated_file(name + "_src", name + ".cc", "\n".join(lines) + "\n")
        flaggems_cc_library(
            name = name,
            srcs = [name + ".cc"],
            hdrs = [],
            alwayslink = 1,
            target_compatible_with = of.compatible_with,
            visibility = ["//flaggems:internal"],
            deps = [
                "//flaggems/kernels/%s:op_%s" % (backend, row.name),
                "//flaggems/registry:register_kernel",
            ],
        )
        leaves.append(":" + name)
    native.cc_library(
        name = "reg_" + backend,
        target_compatible_with = of.compatible_with,
        visibility = ["//flaggems:internal"],
        deps = leaves,
    )

def all_kernels_but(name, backend, families):
    """A testonly library with all kernels of a backend but some families'.

    For tests that plant a kernel of their own in place of ours.
    """
    native.cc_library(
        name = name,
        testonly = 1,
        visibility = ["//flaggems:internal"],
        deps = [
            ":op_%s_%s_reg" % (row.name, backend)
            for row in _BACKENDS[backend].ops
            if row.name not in families
        ],
    )

def kernel_table(name, backend):
    """A library that defines KernelTable() with all kernels of a backend."""
    lines = [
        "#include \"flaggems/kernels/reg/kernel_table.h\"",
        "namespace flaggems {",
        "std::vector<std::string> KernelTable() {",
        "  return {",
    ]
    for row in _BACKENDS[backend].ops:
        for op in sorted(row.kernels):
            lines.append("      \"%s %s\"," % (op, backend.upper()))
    lines += ["  };", "}", "}  // namespace flaggems"]
    _generated_file(name + "_src", name + ".cc", "\n".join(lines) + "\n")
    flaggems_cc_library(
        name = name,
        testonly = 1,
        srcs = [name + ".cc"],
        hdrs = ["kernel_table.h"],
    )
