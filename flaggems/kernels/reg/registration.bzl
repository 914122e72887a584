"""Registration leaves and the list of kernels, generated from OPS."""

load("//flaggems/kernels:ops.bzl", "OPS")
load("//tools/build_defs:cc.bzl", "flaggems_cc_library")

_BACKENDS = {
    "cpu": "::flaggems::Backend::kCpu",
    "cuda": "::flaggems::Backend::kCuda",
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
    """One alwayslink library per row of OPS, and reg_<backend> with all of them.

    A row's library registers its kernels when it is linked; linking one row
    alone is fine.
    """
    leaves = []
    for row in OPS:
        if backend not in row.backends:
            continue
        name = "op_%s_%s_reg" % (row.name, backend)
        lines = [
            "// Registers the kernels of op_%s for the %s backend." % (row.name, backend),
            "#include \"flaggems/kernels/%s/op_%s.h\"" % (backend, row.name),
            "#include \"flaggems/registry/register_kernel.h\"",
            "",
        ]
        for op in sorted(row.kernels):
            lines.append("FLAGGEMS_REGISTER_KERNEL(%s_%s, \"%s\", %s, &::flaggems::kernels::%s::%s);" % (
                _identifier(op),
                backend,
                op,
                _BACKENDS[backend],
                backend,
                row.kernels[op],
            ))
        _generated_file(name + "_src", name + ".cc", "\n".join(lines) + "\n")
        flaggems_cc_library(
            name = name,
            srcs = [name + ".cc"],
            hdrs = [],
            alwayslink = 1,
            visibility = ["//flaggems:internal"],
            deps = [
                "//flaggems/kernels/%s:op_%s" % (backend, row.name),
                "//flaggems/registry:register_kernel",
            ],
        )
        leaves.append(":" + name)
    native.cc_library(
        name = "reg_" + backend,
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
            for row in OPS
            if backend in row.backends and row.name not in families
        ],
    )

def kernel_table(name, backends):
    """A header with every kernel that OPS promises, for tests."""
    lines = ["// Every kernel of the table, as \"aten::op.overload backend\".", "#pragma once", "namespace flaggems {", "inline constexpr const char* kKernelTable[] = {"]
    for row in OPS:
        for backend in backends:
            if backend in row.backends:
                for op in sorted(row.kernels):
                    lines.append("    \"%s %s\"," % (op, backend.upper()))
    lines += ["};", "}  // namespace flaggems"]
    _generated_file(name + "_src", name + ".h", "\n".join(lines) + "\n")
    flaggems_cc_library(
        name = name,
        testonly = 1,
        hdrs = [name + ".h"],
        srcs = [],
    )
