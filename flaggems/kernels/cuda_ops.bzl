"""The table of our own CUDA kernels, and the targets that come from it.

One row an operator family, as in ops.bzl; the row of family F says:
  cuda/op_F.{h,cc}       the kernels as functions of at::Tensor, namespace
                         flaggems::kernels::cuda, target :op_F; checks, device
                         guard, stream, outputs
  cuda/op_F_launch.h     plain pointers, sizes, strides and a stream; returns
                         cudaError_t; no torch header. A family whose device
                         code is CUDA's own library or an engine among its deps
                         has none
  cuda/op_F*.cu          the device code, compiled side by side
  cuda/op_F_test.cc      its conformance suite on a GPU
  kernels                dispatcher key -> function name, with the C++ signature
                         of the schema's unboxed kernel
Adding an op is: its files and its row here.
"""

load("//flaggems/kernels:ops.bzl", "kernel_library")
load("//tools/build_defs:cc.bzl", "flaggems_cc_test")
load("//tools/build_defs:cuda.bzl", "cuda_library", "requires_cuda")

def cuda_op(name, kernels, launch_deps = [], deps = [], cases = []):
    """A row of CUDA_OPS.

    Args:
      name: the family, the F above.
      kernels: dict, "aten::op.overload" -> function name.
      launch_deps: targets of our own that the .cu files include.
      deps: targets that the .cc file includes, besides :launch.
      cases: libraries of //flaggems/kernels/testing with the suite's calls.
    """
    return struct(
        name = name,
        kernels = kernels,
        launch_deps = launch_deps,
        deps = deps,
        cases = cases,
    )

_INDEX_CASES = [
    "//flaggems/kernels/testing:index_cases",
    "//flaggems/kernels/testing:index_write_cases",
]
_JOINED = ["//flaggems/kernels/testing:joined"]
_LOSS_CASES = ["//flaggems/kernels/testing:loss_cases"]

CUDA_OPS = [
    # Pointwise, on the elementwise engine.
    cuda_op(
        name = "activation",
        kernels = {
            "aten::gelu": "gelu",
            "aten::gelu_": "gelu_",
            "aten::gelu.out": "gelu_out",
            "aten::leaky_relu": "leaky_relu",
            "aten::leaky_relu_": "leaky_relu_",
            "aten::leaky_relu.out": "leaky_relu_out",
            "aten::silu": "silu",
            "aten::silu_": "silu_",
            "aten::silu.out": "silu_out",
            "aten::softplus": "softplus",
            "aten::softplus.out": "softplus_out",
            "aten::threshold": "threshold",
            "aten::threshold_": "threshold_",
            "aten::threshold.out": "threshold_out",
            "aten::gelu_backward": "gelu_backward",
            "aten::gelu_backward.grad_input": "gelu_backward_out",
            "aten::silu_backward": "silu_backward",
            "aten::silu_backward.grad_input": "silu_backward_out",
            "aten::sigmoid_backward": "sigmoid_backward",
            "aten::sigmoid_backward.grad_input": "sigmoid_backward_out",
            "aten::tanh_backward": "tanh_backward",
            "aten::tanh_backward.grad_input": "tanh_backward_out",
            "aten::threshold_backward": "threshold_backward",
            "aten::threshold_backward.grad_input": "threshold_backward_out",
        },
        launch_deps = [":elementwise_launch"],
        deps = [":elementwise"],
        cases = [
            "//flaggems/kernels/testing:joined",
            "//flaggems/kernels/testing:pointwise_cases",
            "//flaggems/kernels/testing:unary_cases",
        ],
    ),
    cuda_op(
        name = "arithmetic",
        kernels = {
            "aten::add.Tensor": "add",
            "aten::add_.Tensor": "add_",
            "aten::add.out": "add_out",
            "aten::sub.Tensor": "sub",
            "aten::sub_.Tensor": "sub_",
            "aten::sub.out": "sub_out",
            "aten::mul.Tensor": "mul",
            "aten::mul_.Tensor": "mul_",
            "aten::mul.out": "mul_out",
            "aten::div.Tensor": "div",
            "aten::div_.Tensor": "div_",
            "aten::div.out": "div_out",
            "aten::rsub.Tensor": "rsub",
            "aten::div.Tensor_mode": "div_mode",
            "aten::div_.Tensor_mode": "div_mode_",
            "aten::div.out_mode": "div_mode_out",
            "aten::floor_divide": "floor_divide",
            "aten::floor_divide_.Tensor": "floor_divide_",
            "aten::floor_divide.out": "floor_divide_out",
        },
        launch_deps = [":elementwise_launch"],
        deps = [":elementwise"],
        cases = [
            "//flaggems/kernels/testing:binary_cases",
            "//flaggems/kernels/testing:joined",
            "//flaggems/kernels/testing:pointwise_cases",
        ],
    ),
    cuda_op(
        name = "clamp",
        kernels = {
            "aten::maximum": "maximum",
            "aten::maximum.out": "maximum_out",
            "aten::minimum": "minimum",
            "aten::minimum.out": "minimum_out",
            "aten::relu": "relu",
            "aten::relu_": "relu_",
            "aten::clamp": "clamp",
            "aten::clamp_": "clamp_",
            "aten::clamp.out": "clamp_out",
            "aten::clamp.Tensor": "clamp_tensor",
            "aten::clamp_.Tensor": "clamp_tensor_",
            "aten::clamp.Tensor_out": "clamp_tensor_out",
            "aten::clamp_min": "clamp_min",
            "aten::clamp_min_": "clamp_min_",
            "aten::clamp_min.out": "clamp_min_out",
            "aten::clamp_min.Tensor": "clamp_min_tensor",
            "aten::clamp_min_.Tensor": "clamp_min_tensor_",
            "aten::clamp_min.Tensor_out": "clamp_min_tensor_out",
            "aten::clamp_max": "clamp_max",
            "aten::clamp_max_": "clamp_max_",
            "aten::clamp_max.out": "clamp_max_out",
            "aten::clamp_max.Tensor": "clamp_max_tensor",
            "aten::clamp_max_.Tensor": "clamp_max_tensor_",
            "aten::clamp_max.Tensor_out": "clamp_max_tensor_out",
        },
        launch_deps = [":elementwise_launch"],
        deps = [":elementwise"],
        cases = [
            "//flaggems/kernels/testing:joined",
            "//flaggems/kernels/testing:pointwise_cases",
            "//flaggems/kernels/testing:unary_cases",
        ],
    ),
    cuda_op(
        name = "compare",
        kernels = {
            "aten::eq.Tensor": "eq",
            "aten::eq_.Tensor": "eq_",
            "aten::eq.Tensor_out": "eq_out",
            "aten::eq.Scalar": "eq_scalar",
            "aten::eq_.Scalar": "eq_scalar_",
            "aten::eq.Scalar_out": "eq_scalar_out",
            "aten::ne.Tensor": "ne",
            "aten::ne_.Tensor": "ne_",
            "aten::ne.Tensor_out": "ne_out",
            "aten::ne.Scalar": "ne_scalar",
            "aten::ne_.Scalar": "ne_scalar_",
            "aten::ne.Scalar_out": "ne_scalar_out",
            "aten::lt.Tensor": "lt",
            "aten::lt_.Tensor": "lt_",
            "aten::lt.Tensor_out": "lt_out",
            "aten::lt.Scalar": "lt_scalar",
            "aten::lt_.Scalar": "lt_scalar_",
            "aten::lt.Scalar_out": "lt_scalar_out",
            "aten::le.Tensor": "le",
            "aten::le_.Tensor": "le_",
            "aten::le.Tensor_out": "le_out",
            "aten::le.Scalar": "le_scalar",
            "aten::le_.Scalar": "le_scalar_",
            "aten::le.Scalar_out": "le_scalar_out",
            "aten::gt.Tensor": "gt",
            "aten::gt_.Tensor": "gt_",
            "aten::gt.Tensor_out": "gt_out",
            "aten::gt.Scalar": "gt_scalar",
            "aten::gt_.Scalar": "gt_scalar_",
            "aten::gt.Scalar_out": "gt_scalar_out",
            "aten::ge.Tensor": "ge",
            "aten::ge_.Tensor": "ge_",
            "aten::ge.Tensor_out": "ge_out",
            "aten::ge.Scalar": "ge_scalar",
            "aten::ge_.Scalar": "ge_scalar_",
            "aten::ge.Scalar_out": "ge_scalar_out",
        },
        launch_deps = [":elementwise_launch"],
        deps = [":elementwise"],
        cases = ["//flaggems/kernels/testing:pointwise_cases"],
    ),
    cuda_op(
        name = "pow",
        kernels = {
            "aten::pow.Tensor_Scalar": "pow",
            "aten::pow_.Scalar": "pow_",
            "aten::pow.Tensor_Scalar_out": "pow_out",
            "aten::pow.Tensor_Tensor": "pow_tensor",
            "aten::pow_.Tensor": "pow_tensor_",
            "aten::pow.Tensor_Tensor_out": "pow_tensor_out",
            "aten::pow.Scalar": "pow_of_scalar",
            "aten::pow.Scalar_out": "pow_of_scalar_out",
        },
        launch_deps = [":elementwise_launch"],
        deps = [
            ":elementwise",
            ":op_unary_launch",
        ],
        cases = [
            "//flaggems/kernels/testing:joined",
            "//flaggems/kernels/testing:pointwise_cases",
            "//flaggems/kernels/testing:unary_cases",
        ],
    ),
    cuda_op(
        name = "select",
        kernels = {
            "aten::where.self": "where",
            "aten::where.self_out": "where_out",
            "aten::masked_fill.Scalar": "masked_fill",
            "aten::masked_fill_.Scalar": "masked_fill_",
            "aten::masked_fill.Tensor": "masked_fill_tensor",
            "aten::masked_fill_.Tensor": "masked_fill_tensor_",
            "aten::fill_.Scalar": "fill_",
            "aten::fill_.Tensor": "fill_tensor_",
        },
        launch_deps = [":elementwise_launch"],
        deps = [":elementwise"],
        cases = [
            "//flaggems/kernels/testing:joined",
            "//flaggems/kernels/testing:pointwise_cases",
            "//flaggems/kernels/testing:select_cases",
        ],
    ),
    cuda_op(
        name = "unary",
        kernels = {
            "aten::abs": "abs",
            "aten::abs_": "abs_",
            "aten::abs.out": "abs_out",
            "aten::bitwise_not": "bitwise_not",
            "aten::bitwise_not_": "bitwise_not_",
            "aten::bitwise_not.out": "bitwise_not_out",
            "aten::cos": "cos",
            "aten::cos_": "cos_",
            "aten::cos.out": "cos_out",
            "aten::erf": "erf",
            "aten::erf_": "erf_",
            "aten::erf.out": "erf_out",
            "aten::exp": "exp",
            "aten::exp_": "exp_",
            "aten::exp.out": "exp_out",
            "aten::log": "log",
            "aten::log_": "log_",
            "aten::log.out": "log_out",
            "aten::logical_not": "logical_not",
            "aten::logical_not_": "logical_not_",
            "aten::logical_not.out": "logical_not_out",
            "aten::neg": "neg",
            "aten::neg_": "neg_",
            "aten::neg.out": "neg_out",
            "aten::reciprocal": "reciprocal",
            "aten::reciprocal_": "reciprocal_",
            "aten::reciprocal.out": "reciprocal_out",
            "aten::rsqrt": "rsqrt",
            "aten::rsqrt_": "rsqrt_",
            "aten::rsqrt.out": "rsqrt_out",
            "aten::sigmoid": "sigmoid",
            "aten::sigmoid_": "sigmoid_",
            "aten::sigmoid.out": "sigmoid_out",
            "aten::sin": "sin",
            "aten::sin_": "sin_",
            "aten::sin.out": "sin_out",
            "aten::sqrt": "sqrt",
            "aten::sqrt_": "sqrt_",
            "aten::sqrt.out": "sqrt_out",
            "aten::tanh": "tanh",
            "aten::tanh_": "tanh_",
            "aten::tanh.out": "tanh_out",
        },
        launch_deps = [":elementwise_launch"],
        deps = [":elementwise"],
        cases = [
            "//flaggems/kernels/testing:joined",
            "//flaggems/kernels/testing:pointwise_cases",
            "//flaggems/kernels/testing:unary_cases",
        ],
    ),
    # Rows: softmax and norms.
    cuda_op(
        name = "group_norm",
        kernels = {"aten::native_group_norm": "group_norm"},
        launch_deps = [":norm_rows"],
        deps = [":norm_checks"],
        cases = ["//flaggems/kernels/testing:norm_cases"],
    ),
    cuda_op(
        name = "layer_norm",
        kernels = {
            "aten::native_layer_norm": "layer_norm",
            "aten::native_layer_norm_backward": "layer_norm_backward",
        },
        launch_deps = [":norm_rows"],
        deps = [":norm_checks"],
        cases = [
            "//flaggems/kernels/testing:joined",
            "//flaggems/kernels/testing:layer_norm_cases",
            "//flaggems/kernels/testing:norm_cases",
        ],
    ),
    cuda_op(
        name = "rms_norm",
        kernels = {
            "aten::_fused_rms_norm": "rms_norm",
            "aten::_fused_rms_norm_backward": "rms_norm_backward",
        },
        launch_deps = [":norm_rows"],
        deps = [":norm_checks"],
        cases = ["//flaggems/kernels/testing:norm_cases"],
    ),
    cuda_op(
        name = "softmax",
        kernels = {
            "aten::_log_softmax": "log_softmax",
            "aten::_log_softmax.out": "log_softmax_out",
            "aten::_log_softmax_backward_data": "log_softmax_backward_data",
            "aten::_log_softmax_backward_data.out": "log_softmax_backward_data_out",
            "aten::_softmax": "softmax",
            "aten::_softmax.out": "softmax_out",
            "aten::_softmax_backward_data": "softmax_backward_data",
            "aten::_softmax_backward_data.out": "softmax_backward_data_out",
        },
        launch_deps = [":softmax_rows"],
        deps = [":empty"],
        cases = [
            "//flaggems/kernels/testing:joined",
            "//flaggems/kernels/testing:softmax_cases",
            "//flaggems/kernels/testing:softmax_rows_cases",
        ],
    ),
    # Products and attention.
    cuda_op(
        name = "attention",
        kernels = {
            "aten::_scaled_dot_product_cudnn_attention": "cudnn_attention",
            "aten::_scaled_dot_product_efficient_attention": "efficient_attention",
            "aten::_scaled_dot_product_flash_attention": "flash_attention",
        },
        launch_deps = [":attention"],
        deps = [
            ":attention",
            ":attention_cudnn",
            ":empty",
        ],
    ),
    cuda_op(
        name = "gemm",
        kernels = {
            "aten::addmm": "addmm",
            "aten::addmm.out": "addmm_out",
            "aten::addmm_": "addmm_",
            "aten::baddbmm": "baddbmm",
            "aten::baddbmm.out": "baddbmm_out",
            "aten::baddbmm_": "baddbmm_",
            "aten::bmm": "bmm",
            "aten::bmm.out": "bmm_out",
            "aten::mm": "mm",
            "aten::mm.out": "mm_out",
        },
        deps = [
            ":blas_lt",
            ":empty",
        ],
        cases = [
            "//flaggems/kernels/testing:joined",
            "//flaggems/kernels/testing:matmul_cases",
            "//flaggems/kernels/testing:product_cases",
        ],
    ),

    # Indexing and the rest.
    cuda_op("cat", {
        "aten::cat": "cat",
        "aten::cat.out": "cat_out",
    }, deps = [":structured"], cases = _INDEX_CASES + _JOINED),
    cuda_op("dropout", {
        "aten::native_dropout": "native_dropout",
        "aten::native_dropout_backward": "native_dropout_backward",
    }, deps = [":empty"], cases = _LOSS_CASES),
    cuda_op("embedding_backward", {
        "aten::embedding_dense_backward": "embedding_dense_backward",
    }, deps = [":indexed", ":sorted_add"], cases = _INDEX_CASES),
    cuda_op("gather", {
        "aten::gather": "gather",
        "aten::gather.out": "gather_out",
        "aten::scatter_add": "scatter_add",
        "aten::scatter_add_": "scatter_add_",
        "aten::scatter_add.out": "scatter_add_out",
    }, deps = [":indexed", ":sorted_add", ":structured"], cases = _INDEX_CASES + _JOINED),
    cuda_op("index", {
        "aten::index.Tensor": "index",
        "aten::index.Tensor_out": "index_out",
        "aten::_index_put_impl_": "index_put_impl_",
        "aten::index_put_": "index_put_",
    }, deps = [":indexed", ":sorted_add", ":structured"], cases = _INDEX_CASES),
    cuda_op("index_add", {
        "aten::index_add": "index_add",
        "aten::index_add_": "index_add_",
        "aten::index_add.out": "index_add_out",
    }, deps = [":indexed", ":sorted_add", ":structured"], cases = _INDEX_CASES),
    cuda_op("index_select", {
        "aten::embedding": "embedding",
        "aten::index_select": "index_select",
        "aten::index_select.out": "index_select_out",
    }, deps = [":indexed"], cases = _INDEX_CASES + _JOINED),
    cuda_op("nll_loss", {
        "aten::nll_loss_forward": "nll_loss_forward",
        "aten::nll_loss_backward": "nll_loss_backward",
        "aten::nll_loss2d_forward": "nll_loss2d_forward",
        "aten::nll_loss2d_backward": "nll_loss2d_backward",
    }, deps = [":structured"], cases = _LOSS_CASES),
    cuda_op("triangular", {
        "aten::triu": "triu",
        "aten::triu_": "triu_",
        "aten::triu.out": "triu_out",
        "aten::tril": "tril",
        "aten::tril_": "tril_",
        "aten::tril.out": "tril_out",
    }, deps = [":structured"], cases = _LOSS_CASES),
    # Reductions, scans, sorts.
    cuda_op(
        "amax",
        {
            "aten::amax": "amax",
            "aten::amax.out": "amax_out",
            "aten::amin": "amin",
            "aten::amin.out": "amin_out",
            "aten::max": "max",
            "aten::min": "min",
        },
        launch_deps = [":reduce_engine"],
        deps = [":reduce_tensor"],
        cases = ["//flaggems/kernels/testing:scan_cases"],
    ),
    cuda_op(
        "any",
        {
            "aten::all": "all",
            "aten::all.dim": "all_dim",
            "aten::all.dims": "all_dims",
            "aten::any": "any",
            "aten::any.dim": "any_dim",
            "aten::any.dims": "any_dims",
        },
        launch_deps = [":reduce_engine"],
        deps = [":reduce_tensor"],
        cases = ["//flaggems/kernels/testing:scan_cases"],
    ),
    cuda_op(
        "argmax",
        {
            "aten::argmax": "argmax",
            "aten::argmin": "argmin",
            "aten::max.dim": "max_dim",
            "aten::min.dim": "min_dim",
        },
        launch_deps = [":reduce_engine"],
        deps = [":reduce_tensor"],
        cases = ["//flaggems/kernels/testing:scan_cases"],
    ),
    cuda_op(
        "cumsum",
        {"aten::cumsum": "cumsum"},
        launch_deps = [":scan"],
        deps = [":empty"],
        cases = ["//flaggems/kernels/testing:scan_cases"],
    ),
    cuda_op(
        "prod",
        {
            "aten::prod": "prod",
            "aten::prod.dim_int": "prod_dim",
        },
        launch_deps = [":reduce_engine"],
        deps = [":reduce_tensor"],
        cases = ["//flaggems/kernels/testing:scan_cases"],
    ),
    cuda_op(
        "sort",
        {
            "aten::sort": "sort",
            "aten::sort.stable": "sort_stable",
        },
        launch_deps = [":sort_key"],
        deps = [":empty"],
        cases = ["//flaggems/kernels/testing:scan_cases"],
    ),
    cuda_op(
        "sum",
        {
            "aten::mean": "mean",
            "aten::mean.dim": "mean_dim",
            "aten::mean.out": "mean_out",
            "aten::sum": "sum",
            "aten::sum.IntList_out": "sum_out",
            "aten::sum.dim_IntList": "sum_dim",
        },
        launch_deps = [":reduce_engine"],
        deps = [":reduce_tensor"],
        cases = ["//flaggems/kernels/testing:scan_cases"],
    ),
    cuda_op(
        "topk",
        {"aten::topk": "topk"},
        launch_deps = [":sort_key"],
        deps = [
            ":empty",
            ":op_sort",
        ],
        cases = ["//flaggems/kernels/testing:scan_cases"],
    ),
    cuda_op(
        "var",
        {
            "aten::std.correction": "std",
            "aten::var.correction": "var",
            "aten::var_mean.correction": "var_mean",
        },
        launch_deps = [":reduce_engine"],
        deps = [":reduce_tensor"],
        cases = ["//flaggems/kernels/testing:scan_cases"],
    ),
]

def cuda_kernel_targets():
    """The libraries op_<name>, and their conformance tests, which need a GPU."""
    for row in CUDA_OPS:
        launch = []
        if native.glob(["op_" + row.name + "_launch.h"]):
            launch = [":op_" + row.name + "_launch"]
            cuda_library(
                name = "op_" + row.name + "_launch",
                srcs = native.glob([
                    "op_" + row.name + ".cu",
                    "op_" + row.name + "_*.cu",
                ]),
                hdrs = ["op_" + row.name + "_launch.h"],
                visibility = ["//flaggems:internal"],
                deps = [":device"] + row.launch_deps,
            )
        kernel_library(
            name = "op_" + row.name,
            target_compatible_with = requires_cuda(),
            deps = [":launch"] + launch + row.deps,
        )
        flaggems_cc_test(
            name = "op_" + row.name + "_test",
            size = "medium",
            tags = ["gpu"],
            target_compatible_with = requires_cuda(),
            deps = row.cases + [
                ":op_" + row.name,
                "//flaggems/kernels/testing:conformance",
                "@libtorch//:torch_cuda",
            ],
        )
