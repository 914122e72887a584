#include "flaggems/kernels/cuda/attention_cudnn.h"

#include <c10/util/Exception.h>
#include <cudnn_frontend.h>

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flaggems/kernels/cuda/launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

namespace fe = cudnn_frontend;

// More problems than this on one device are shapes that do not come back.
constexpr size_t kMaxPlans = 2048;

// Names of the graph's tensors; execute() wants them in this order.
enum Id : int64_t { kQ = 1, kK, kV, kOut, kBias, kScale, kLse };

// What one plan is made for. Bytes are compared, so no padding.
struct Key {
  int64_t flags;
  int64_t sizes[8];
  RowStrides strides[5];
  int64_t bias_key_stride;

  bool operator==(const Key& other) const {
    return std::memcmp(this, &other, sizeof(Key)) == 0;
  }
};
static_assert(sizeof(Key) == 25 * sizeof(int64_t), "no padding");

struct HashOfKey {
  size_t operator()(const Key& key) const {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(&key), sizeof(Key)});
  }
};

Key KeyOf(const Attention& a) {
  int64_t flags = static_cast<int64_t>(a.element);
  const auto add = [&flags](bool flag) { flags = flags << 1 | flag; };
  add(a.bias != nullptr);
  add(a.lse != nullptr);
  add(a.causal);
  return {
      flags,
      {a.batch, a.heads, a.key_heads, a.value_heads, a.queries, a.keys,
       a.head_size, a.value_size},
      {a.q_strides, a.k_strides, a.v_strides, a.bias_strides, a.out_strides},
      a.bias_key_stride};
}

struct Plan {
  std::shared_ptr<fe::graph::Graph> graph;  // null: cuDNN has no kernel
  int64_t workspace = 0;
};

// A handle holds the stream, and not every plan may run on two threads at
// once: one lock for a device's calls. They only enqueue.
struct PerDevice {
  std::mutex mutex;
  cudnnHandle_t handle = nullptr;
  bool usable = true;
  std::unordered_map<Key, Plan, HashOfKey> plans;
};

PerDevice& OfDevice(const char* op) {
  static std::array<PerDevice, kMaxDevices>& all =
      *new std::array<PerDevice, kMaxDevices>;
  return all[CurrentDevice(op)];
}

std::shared_ptr<fe::graph::Tensor_attributes> Declare(
    fe::graph::Graph& graph, Id id, const char* name,
    const std::array<int64_t, 4>& sizes, const RowStrides& strides,
    int64_t last_stride = 1) {
  return graph.tensor(
      fe::graph::Tensor_attributes()
          .set_uid(id)
          .set_name(name)
          .set_dim({sizes.begin(), sizes.end()})
          .set_stride({strides.batch, strides.head, strides.row, last_stride}));
}

// One matrix for all batches and heads, see CanServeBias.
std::shared_ptr<fe::graph::Tensor_attributes> DeclareBias(
    fe::graph::Graph& graph, const Attention& a) {
  const int64_t matrix = a.queries * a.bias_strides.row;
  return Declare(graph, kBias, "bias", {1, 1, a.queries, a.keys},
                 {matrix, matrix, a.bias_strides.row});
}

Plan MakePlan(const Attention& a, cudnnHandle_t handle) {
  auto graph = std::make_shared<fe::graph::Graph>();
  graph
      ->set_io_data_type(a.element == Element::kFloat16
                             ? fe::DataType_t::HALF
                             : fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const auto scale = graph->tensor(fe::graph::Tensor_attributes()
                                       .set_uid(kScale)
                                       .set_name("scale")
                                       .set_dim({1, 1, 1, 1})
                                       .set_stride({1, 1, 1, 1})
                                       .set_is_pass_by_value(true)
                                       .set_data_type(fe::DataType_t::FLOAT));
  auto options = fe::graph::SDPA_attributes()
                     .set_name("attention")
                     .set_generate_stats(a.lse != nullptr)
                     .set_causal_mask(a.causal)
                     .set_attn_scale(scale);
  if (a.bias != nullptr) options.set_bias(DeclareBias(*graph, a));
  const auto q = Declare(
      *graph, kQ, "q", {a.batch, a.heads, a.queries, a.head_size}, a.q_strides);
  const auto k =
      Declare(*graph, kK, "k", {a.batch, a.key_heads, a.keys, a.head_size},
              a.k_strides);
  const auto v =
      Declare(*graph, kV, "v", {a.batch, a.value_heads, a.keys, a.value_size},
              a.v_strides);
  auto [out, stats] = graph->sdpa(q, k, v, options);
  out->set_uid(kOut)
      .set_output(true)
      .set_dim({a.batch, a.heads, a.queries, a.value_size})
      .set_stride(
          {a.out_strides.batch, a.out_strides.head, a.out_strides.row, 1});
  if (a.lse != nullptr) {
    stats->set_uid(kLse)
        .set_output(true)
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim({a.batch, a.heads, a.queries, 1})
        .set_stride({a.heads * a.queries, a.queries, 1, 1});
  }
  Plan plan;
  if (graph->validate().is_good() &&
      graph->build_operation_graph(handle).is_good() &&
      graph->create_execution_plans({fe::HeurMode_t::A}).is_good() &&
      graph->check_support(handle).is_good() &&
      graph->build_plans(handle).is_good()) {
    plan.workspace = graph->get_workspace_size();
    plan.graph = std::move(graph);
  }
  return plan;
}

// A mask as models have it: one matrix for all batches and heads, whole tiles.
bool CanServeBias(const Attention& a) {
  return reinterpret_cast<uintptr_t>(a.bias) % 16 == 0 && !a.causal &&
         a.bias_strides.batch == 0 && a.bias_strides.head == 0 &&
         a.bias_strides.row >= a.keys && a.bias_strides.row % 8 == 0 &&
         a.bias_key_stride == 1 && a.queries % 64 == 0 && a.keys % 64 == 0;
}

}  // namespace

bool EnqueueCudnnAttention(const Attention& a, cudaStream_t stream,
                           const char* op) {
  if (a.element != Element::kFloat16 && a.element != Element::kBFloat16) {
    return false;
  }
  // A negative scale is lost where cuDNN takes the largest product for the
  // largest score.
  if (!(a.scale > 0) || a.keys == 0 || (a.causal && a.diagonal != 0)) {
    return false;
  }
  // Rows start at multiples of 16 bytes, or cuDNN has no kernel.
  const auto aligned = [](const void* p, const RowStrides& s) {
    return reinterpret_cast<uintptr_t>(p) % 16 == 0 && s.batch % 8 == 0 &&
           s.head % 8 == 0 && s.row % 8 == 0;
  };
  if (a.head_size % 8 != 0 || a.value_size % 8 != 0 ||
      !aligned(a.q, a.q_strides) || !aligned(a.k, a.k_strides) ||
      !aligned(a.v, a.v_strides) || !aligned(a.out, a.out_strides) ||
      (a.bias != nullptr && !CanServeBias(a))) {
    return false;
  }
  PerDevice& device = OfDevice(op);
  std::lock_guard<std::mutex> lock(device.mutex);
  if (device.handle == nullptr) {
    if (!device.usable) return false;
    device.usable = cudnnCreate(&device.handle) == CUDNN_STATUS_SUCCESS;
    if (!device.usable) {
      device.handle = nullptr;
      return false;
    }
  }
  const Key key = KeyOf(a);
  auto found = device.plans.find(key);
  if (found == device.plans.end()) {
    if (device.plans.size() >= kMaxPlans) device.plans.clear();
    found = device.plans.emplace(key, MakePlan(a, device.handle)).first;
  }
  Plan& plan = found->second;
  if (plan.graph == nullptr) return false;

  float scale = static_cast<float>(a.scale);
  // In the order of Id.
  void* tensors[7] = {const_cast<void*>(a.q), const_cast<void*>(a.k),
                      const_cast<void*>(a.v), a.out};
  int count = 4;
  if (a.bias != nullptr) tensors[count++] = const_cast<void*>(a.bias);
  tensors[count++] = &scale;
  if (a.lse != nullptr) tensors[count++] = a.lse;
  std::optional<Scratch> workspace;
  if (plan.workspace > 0) {
    workspace.emplace(static_cast<size_t>(plan.workspace));
  }
  TORCH_CHECK(cudnnSetStream(device.handle, stream) == CUDNN_STATUS_SUCCESS, op,
              ": cuDNN refused the stream");
  auto status =
      plan.graph->execute(device.handle, tensors, count,
                          workspace.has_value() ? workspace->data() : nullptr);
  // Not its kernel then; a failure of the device shows at the next launch.
  if (!status.is_good()) plan.graph = nullptr;
  return status.is_good();
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
