"""The table of our own CPU kernels, and the targets that come from it.

One row an operator family. The row of family F says:
  cpu/op_F.{h,cc}      the kernels, functions of namespace
                       flaggems::kernels::cpu, target //flaggems/kernels/cpu:op_F
  cpu/<test>.cc        its conformance suite (op_F_test unless the row names
                       one that several families share); op_X_test has its
                       calls from testing/X_cases.cc
  kernels              dispatcher key -> function name. The function has the
                       C++ signature of the schema's unboxed kernel, so it can
                       be registered for that key as it is.
Adding an op is: its files and its row here.
"""

load("//tools/build_defs:cc.bzl", "flaggems_cc_library", "flaggems_cc_test")

def op(name, kernels, deps = [], test = None):
    """A row of OPS.

    Args:
      name: the family, the F above.
      kernels: dict, "aten::op.overload" -> function name.
      deps: targets of our own that the kernel file includes, besides the
        ones that all kernels get.
      test: the conformance test, without .cc.
    """
    return struct(
        name = name,
        kernels = kernels,
        deps = deps,
        test = test or "op_" + name + "_test",
    )

_LOOPS = ["//flaggems/kernels/cpu:vec_loops"]
_POINTWISE = ["//flaggems/kernels/cpu:pointwise"]
_MATH = _POINTWISE + ["//flaggems/kernels/cpu:vec_math"]
_REDUCE = ["//flaggems/kernels/cpu:reduce"]
_ROWS = ["//flaggems/kernels/cpu:vec_loops", "//flaggems/kernels/cpu:vec_math"]
_SOFTMAX = ["//flaggems/kernels/cpu:softmax_rows"]
_GEMM = ["//flaggems/kernels/cpu:gemm"]
_INDEX = ["//flaggems/kernels/cpu:index_util"]

OPS = [
    # Pointwise, two tensors.
    op("add", {
        "aten::add.Tensor": "add",
        "aten::add_.Tensor": "add_",
        "aten::add.out": "add_out",
    }, deps = _POINTWISE, test = "op_binary_test"),
    op("sub", {"aten::sub.Tensor": "sub"}, deps = _POINTWISE, test = "op_binary_test"),
    op("mul", {
        "aten::mul.Tensor": "mul",
        "aten::mul_.Tensor": "mul_",
    }, deps = _POINTWISE, test = "op_binary_test"),
    op("div", {"aten::div.Tensor": "div"}, deps = _POINTWISE, test = "op_binary_test"),

    # Pointwise, one tensor.
    op("neg", {"aten::neg": "neg"}, deps = _POINTWISE, test = "op_unary_test"),
    op("relu", {
        "aten::relu": "relu",
        "aten::relu_": "relu_",
    }, deps = _POINTWISE, test = "op_unary_test"),
    op("exp", {"aten::exp": "exp"}, deps = _MATH, test = "op_unary_test"),
    op("log", {"aten::log": "log"}, deps = _MATH, test = "op_unary_test"),
    op("sqrt", {"aten::sqrt": "sqrt"}, deps = _POINTWISE, test = "op_unary_test"),
    op("rsqrt", {"aten::rsqrt": "rsqrt"}, deps = _POINTWISE, test = "op_unary_test"),
    op("sigmoid", {"aten::sigmoid": "sigmoid"}, deps = _MATH, test = "op_unary_test"),
    op("tanh", {"aten::tanh": "tanh"}, deps = _MATH, test = "op_unary_test"),
    op("silu", {"aten::silu": "silu"}, deps = _MATH, test = "op_unary_test"),
    op("gelu", {"aten::gelu": "gelu"}, deps = _MATH, test = "op_unary_test"),
    op("pow", {"aten::pow.Tensor_Scalar": "pow"}, deps = _MATH, test = "op_unary_test"),

    # Selection.
    op("where", {"aten::where.self": "where"}, deps = _LOOPS, test = "op_select_test"),
    op("masked_fill", {"aten::masked_fill.Scalar": "masked_fill"}, deps = _LOOPS, test = "op_select_test"),

    # Reductions and scans.
    op("sum", {"aten::sum.dim_IntList": "sum"}, deps = _REDUCE, test = "op_reduce_test"),
    op("mean", {"aten::mean.dim": "mean"}, deps = _REDUCE, test = "op_reduce_test"),
    op("amax", {"aten::amax": "amax"}, deps = _REDUCE, test = "op_reduce_test"),
    op("argmax", {"aten::argmax": "argmax"}, deps = _REDUCE, test = "op_reduce_test"),
    op("cumsum", {"aten::cumsum": "cumsum"}, test = "op_reduce_test"),

    # Normalisation.
    op("softmax", {"aten::_softmax": "softmax"}, deps = _SOFTMAX, test = "op_softmax_test"),
    op("log_softmax", {"aten::_log_softmax": "log_softmax"}, deps = _SOFTMAX, test = "op_softmax_test"),
    op("layer_norm", {"aten::native_layer_norm": "layer_norm"}, deps = _ROWS),

    # Matrix products.
    op("mm", {"aten::mm": "mm"}, deps = _GEMM, test = "op_matmul_test"),
    op("addmm", {"aten::addmm": "addmm"}, deps = _GEMM, test = "op_matmul_test"),
    op("bmm", {"aten::bmm": "bmm"}, deps = _GEMM, test = "op_matmul_test"),

    # Indexing.
    op("embedding", {"aten::embedding": "embedding"}, deps = _INDEX, test = "op_index_test"),
    op("index_select", {"aten::index_select": "index_select"}, deps = _INDEX, test = "op_index_test"),
    op("gather", {"aten::gather": "gather"}, test = "op_index_test"),
    op("cat", {"aten::cat": "cat"}, test = "op_index_test"),
]

# What the kernel files are compiled with beyond the repository's options.
# -O3: vectorisation of the inner loops. No errno and no traps: sqrt and
# comparisons vectorise; neither changes a result (no -ffast-math).
KERNEL_COPTS = [
    "-O3",
    # Without it at::parallel_for is a plain loop.
    "-fopenmp",
    "-fno-math-errno",
    "-fno-trapping-math",
    # False alarms in torch's inlined headers at -O3.
    "-Wno-maybe-uninitialized",
]

def kernel_library(name, deps = [], copts = [], **kwargs):
    """A library of kernel code: libtorch and KERNEL_COPTS on top of the usual.

    Kernels never depend on the checker.
    """
    flaggems_cc_library(
        name = name,
        copts = KERNEL_COPTS + copts,
        visibility = ["//flaggems:internal"],
        deps = deps + ["@libtorch//:torch_cpu"],
        **kwargs
    )

def kernel_targets():
    """The libraries op_<name> and their conformance tests."""
    tests = {}
    for row in OPS:
        kernel_library(name = "op_" + row.name, deps = row.deps)
        tests.setdefault(row.test, []).append(":op_" + row.name)
    for test, libraries in tests.items():
        flaggems_cc_test(
            name = test,
            size = "medium",
            deps = libraries + [
                "//flaggems/kernels/testing:" + test[len("op_"):-len("_test")] + "_cases",
                "//flaggems/kernels/testing:conformance",
                "@libtorch//:torch_cpu",
            ],
        )
