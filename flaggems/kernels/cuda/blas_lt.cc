#include "flaggems/kernels/cuda/blas_lt.h"

#include <c10/util/Exception.h>
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

#include "flaggems/kernels/cuda/launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr uint64_t kMaxWorkspace = uint64_t{32} << 20;
// More problems than this in one process are shapes that do not come back.
constexpr size_t kMaxPlans = 8192;

void Check(cublasStatus_t status, const char* op) {
  TORCH_CHECK(status == CUBLAS_STATUS_SUCCESS, op,
              ": cuBLASLt: ", cublasLtGetStatusString(status));
}

// One a device, made once and kept: a handle may be used by many threads.
cublasLtHandle_t Handle(int device, const char* op) {
  static std::array<std::atomic<cublasLtHandle_t>, kMaxDevices> handles{};
  cublasLtHandle_t known = handles[device].load(std::memory_order_acquire);
  if (C10_LIKELY(known != nullptr)) return known;
  cublasLtHandle_t made = nullptr;
  Check(cublasLtCreate(&made), op);
  if (handles[device].compare_exchange_strong(known, made,
                                              std::memory_order_acq_rel)) {
    return made;
  }
  cublasLtDestroy(made);
  return known;
}

// What one algorithm is chosen for. Bytes are compared, so no padding.
struct Key {
  int64_t device_and_flags;
  int64_t alignment;
  int64_t batch, m, n, k;
  int64_t stride[4];
  int64_t batch_stride[4];

  bool operator==(const Key& other) const {
    return std::memcmp(this, &other, sizeof(Key)) == 0;
  }
};
static_assert(sizeof(Key) == 14 * sizeof(int64_t), "no padding");

struct HashOfKey {
  size_t operator()(const Key& key) const {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(&key), sizeof(Key)});
  }
};

// The largest power of two, up to 256, that divides the address.
int64_t Alignment(const void* p) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p) | 256;
  return static_cast<int64_t>(address & (~address + 1));
}

bool Is16Bit(Element element) {
  return element == Element::kFloat16 || element == Element::kBFloat16;
}

Key KeyOf(const MatrixProduct& p, int device) {
  int64_t flags = static_cast<int64_t>(p.element);
  const auto add = [&flags](bool flag) { flags = flags << 1 | flag; };
  add(p.a.transposed);
  add(p.b.transposed);
  add(p.bias != nullptr);
  add(p.beta != 0);
  add(p.element == Element::kFloat32 && p.allow_tf32);
  add(Is16Bit(p.element) && p.allow_reduced_reduction);
  add(Is16Bit(p.element) && p.allow_split_k);
  add(p.element == Element::kFloat16 && p.allow_half_accumulation);
  // Alignments are powers of two up to 2^8: 16 bits each.
  const int64_t alignment = Alignment(p.a.data) | Alignment(p.b.data) << 16 |
                            Alignment(p.c.data) << 32 |
                            Alignment(p.d.data) << 48;
  return {
      flags << 16 | device,
      alignment,
      p.batch,
      p.m,
      p.n,
      p.k,
      {p.a.stride, p.b.stride, p.c.stride, p.d.stride},
      {p.a.batch_stride, p.b.batch_stride, p.c.batch_stride, p.d.batch_stride}};
}

// All that a call passes to cuBLASLt besides pointers.
struct Plan {
  bool supported = false;
  bool half_scale = false;  // alpha and beta are float16
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t a, b, c, d;
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace = 0;
};

cudaDataType_t TypeOf(Element element) {
  switch (element) {
    case Element::kFloat16:
      return CUDA_R_16F;
    case Element::kBFloat16:
      return CUDA_R_16BF;
    case Element::kFloat64:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}

template <typename T>
void SetOperation(Plan& plan, cublasLtMatmulDescAttributes_t attribute, T value,
                  const char* op) {
  Check(cublasLtMatmulDescSetAttribute(&plan.operation, attribute, &value,
                                       sizeof(value)),
        op);
}

void InitLayout(cublasLtMatrixLayoutOpaque_t& layout, const MatrixProduct& p,
                int64_t rows, int64_t columns, const MatrixView& view,
                const char* op) {
  Check(cublasLtMatrixLayoutInit(&layout, TypeOf(p.element),
                                 static_cast<uint64_t>(rows),
                                 static_cast<uint64_t>(columns), view.stride),
        op);
  if (p.batch == 1) return;
  const int32_t batch = static_cast<int32_t>(p.batch);
  Check(cublasLtMatrixLayoutSetAttribute(
            &layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)),
        op);
  Check(cublasLtMatrixLayoutSetAttribute(
            &layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
            &view.batch_stride, sizeof(view.batch_stride)),
        op);
}

uint32_t AllowedReductions(const MatrixProduct& p) {
  if (!Is16Bit(p.element)) return CUBLASLT_REDUCTION_SCHEME_MASK;
  if (!p.allow_split_k) return CUBLASLT_REDUCTION_SCHEME_NONE;
  return p.allow_reduced_reduction ? CUBLASLT_REDUCTION_SCHEME_MASK
                                   : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

// cuBLASLt's matrices are column-major: a row-major product a @ b is its
// b^T @ a^T, without any change in memory.
std::shared_ptr<Plan> MakePlan(const MatrixProduct& p, cublasLtHandle_t handle,
                               const char* op) {
  auto plan = std::make_shared<Plan>();
  const bool is_double = p.element == Element::kFloat64;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  if (is_double) {
    compute = CUBLAS_COMPUTE_64F;
    scale = CUDA_R_64F;
  } else if (p.element == Element::kFloat32 && p.allow_tf32) {
    compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  } else if (p.element == Element::kFloat16 && p.allow_half_accumulation) {
    compute = CUBLAS_COMPUTE_16F;
    scale = CUDA_R_16F;
    plan->half_scale = true;
  }
  Check(cublasLtMatmulDescInit(&plan->operation, compute, scale), op);
  const auto transpose = [](const MatrixView& view) {
    return view.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  SetOperation(*plan, CUBLASLT_MATMUL_DESC_TRANSA, transpose(p.b), op);
  SetOperation(*plan, CUBLASLT_MATMUL_DESC_TRANSB, transpose(p.a), op);
  if (p.bias != nullptr) {
    SetOperation(*plan, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS,
                 op);
    SetOperation(*plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias, op);
  }
  const auto init = [&](cublasLtMatrixLayoutOpaque_t& layout, int64_t rows,
                        int64_t columns, const MatrixView& view) {
    // In memory: `rows` rows of `columns` values, or the transpose.
    if (view.transposed) std::swap(rows, columns);
    InitLayout(layout, p, columns, rows, view, op);
  };
  init(plan->a, p.k, p.n, p.b);
  init(plan->b, p.m, p.k, p.a);
  init(plan->c, p.m, p.n, p.c);
  init(plan->d, p.m, p.n, p.d);

  cublasLtMatmulPreferenceOpaque_t preference;
  Check(cublasLtMatmulPreferenceInit(&preference), op);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                          auto value) {
    Check(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value,
                                               sizeof(value)),
          op);
  };
  const auto alignment = [](const MatrixView& view) {
    return static_cast<uint32_t>(Alignment(view.data));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMaxWorkspace);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, AllowedReductions(p));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(p.b));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(p.a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(p.c));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(p.d));

  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, &plan->operation, &plan->a, &plan->b, &plan->c, &plan->d,
      &preference, /*requestedAlgoCount=*/1, &result, &found);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) Check(status, op);
  plan->supported = status == CUBLAS_STATUS_SUCCESS && found > 0 &&
                    result.state == CUBLAS_STATUS_SUCCESS;
  if (plan->supported) {
    plan->algorithm = result.algo;
    plan->workspace = result.workspaceSize;
  }
  return plan;
}

struct Plans {
  std::shared_mutex mutex;
  std::unordered_map<Key, std::shared_ptr<Plan>, HashOfKey> known;
};

std::shared_ptr<Plan> PlanOf(const MatrixProduct& p, int device,
                             cublasLtHandle_t handle, const char* op) {
  static Plans& plans = *new Plans;
  const Key key = KeyOf(p, device);
  {
    std::shared_lock<std::shared_mutex> lock(plans.mutex);
    const auto found = plans.known.find(key);
    if (found != plans.known.end()) return found->second;
  }
  // Not under the lock: a heuristic takes long. Two threads that come here at
  // once make equal plans.
  std::shared_ptr<Plan> plan = MakePlan(p, handle, op);
  std::unique_lock<std::shared_mutex> lock(plans.mutex);
  if (plans.known.size() >= kMaxPlans) plans.known.clear();
  return plans.known.emplace(key, std::move(plan)).first->second;
}

}  // namespace

bool EnqueueProduct(const MatrixProduct& product, cudaStream_t stream,
                    const char* op) {
  MatrixProduct p = product;
  // Not read, but cuBLASLt wants a matrix of the shape.
  if (p.beta == 0) p.c = p.d;
  const int device = CurrentDevice(op);
  const cublasLtHandle_t handle = Handle(device, op);
  // Not written any more; cuBLASLt's signatures lack the const.
  const std::shared_ptr<Plan> plan = PlanOf(p, device, handle, op);
  if (!plan->supported) return false;

  const double exact[2] = {p.alpha, p.beta};
  const float single[2] = {static_cast<float>(p.alpha),
                           static_cast<float>(p.beta)};
  const __half half[2] = {__float2half(single[0]), __float2half(single[1])};
  const void* alpha = &single[0];
  const void* beta = &single[1];
  if (p.element == Element::kFloat64) {
    alpha = &exact[0];
    beta = &exact[1];
  } else if (plan->half_scale) {
    alpha = &half[0];
    beta = &half[1];
  }

  // A plan is shared; the address of the bias belongs to this call.
  cublasLtMatmulDescOpaque_t operation = plan->operation;
  if (p.bias != nullptr) {
    Check(cublasLtMatmulDescSetAttribute(&operation,
                                         CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                         &p.bias, sizeof(p.bias)),
          op);
  }
  std::optional<Scratch> workspace;
  if (plan->workspace > 0) workspace.emplace(plan->workspace);
  Check(cublasLtMatmul(handle, &operation, alpha, p.b.data, &plan->a, p.a.data,
                       &plan->b, beta, p.c.data, &plan->c,
                       const_cast<void*>(p.d.data), &plan->d, &plan->algorithm,
                       workspace.has_value() ? workspace->data() : nullptr,
                       plan->workspace, stream),
        op);
  return true;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
