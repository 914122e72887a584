// Conformance of the matrix products on a GPU.

#include "flaggems/kernels/cuda/op_gemm.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/joined.h"
#include "flaggems/kernels/testing/matmul_cases.h"
#include "flaggems/kernels/testing/product_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Gemm, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cuda::mm>("aten::mm"),
                 KernelOf<&cuda::mm_out>("aten::mm.out"),
                 KernelOf<&cuda::addmm>("aten::addmm"),
                 KernelOf<&cuda::addmm_>("aten::addmm_"),
                 KernelOf<&cuda::addmm_out>("aten::addmm.out"),
                 KernelOf<&cuda::bmm>("aten::bmm"),
                 KernelOf<&cuda::bmm_out>("aten::bmm.out"),
                 KernelOf<&cuda::baddbmm>("aten::baddbmm"),
                 KernelOf<&cuda::baddbmm_>("aten::baddbmm_"),
                 KernelOf<&cuda::baddbmm_out>("aten::baddbmm.out")},
                Joined({MatmulOperators(), ProductOperators()}),
                at::Device(at::kCUDA, 0))),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
