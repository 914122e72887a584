// Softmax, norms and their gradients.

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/cuda/row.h"

namespace flaggems {
namespace benchmarks {
namespace {

using Arguments = std::vector<c10::IValue>;

const std::vector<at::ScalarType> kTwo = {at::kBFloat16, at::kFloat};
const std::vector<at::ScalarType> kThree = {at::kBFloat16, at::kHalf,
                                            at::kFloat};

at::Tensor Random(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::randn(sizes, at::TensorOptions(at::kCUDA).dtype(dtype));
}

std::string NameOf(const std::string& op, const std::vector<int64_t>& sizes) {
  std::string name = op;
  for (size_t d = 0; d < sizes.size(); ++d) {
    name += (d == 0 ? " " : " x ") + std::to_string(sizes[d]);
  }
  return name;
}

int64_t Numel(const std::vector<int64_t>& sizes) {
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  return numel;
}

// `tensors` of the sizes are read or written.
std::function<double(double)> Bytes(const std::vector<int64_t>& sizes,
                                    double tensors) {
  const double numel = static_cast<double>(Numel(sizes)) * tensors;
  return [numel](double element) { return numel * element; };
}

struct Shape {
  std::vector<int64_t> sizes;
  int64_t dim;
  double goal;
};

const std::vector<Shape>& SoftmaxShapes() {
  static const auto* const shapes =
      new std::vector<Shape>{{{8192, 8192}, 1, 0.85},  {{65536, 1024}, 1, 0.85},
                             {{16384, 4096}, 1, 0.85}, {{4096, 16384}, 1, 0.85},
                             {{2048, 32768}, 1, 0},    {{512, 131072}, 1, 0},
                             {{8, 4194304}, 1, 0},     {{65536, 1000}, 1, 0},
                             {{65536, 1001}, 1, 0},    {{1 << 21, 32}, 1, 0},
                             {{1 << 23, 8}, 1, 0},     {{64, 1024, 1024}, 1, 0},
                             {{4096, 4096, 4}, 1, 0},  {{512, 512}, 1, 0}};
  return *shapes;
}

void AddSoftmax(std::vector<Row>* rows, const std::string& name,
                const std::string& op) {
  for (const Shape& s : SoftmaxShapes()) {
    std::string label = NameOf(name, s.sizes);
    if (s.sizes.size() > 2) label += " over dim " + std::to_string(s.dim);
    rows->push_back({label, op, s.sizes[0] == 8192 ? kThree : kTwo,
                     [s](at::ScalarType dtype) {
                       return Arguments{Random(s.sizes, dtype), s.dim, false};
                     },
                     Limit::kMemory, Bytes(s.sizes, 2), s.goal});
  }
}

void AddSoftmaxGradient(std::vector<Row>* rows, const std::string& name,
                        const std::string& op) {
  for (const Shape& s : SoftmaxShapes()) {
    if (s.sizes.size() > 2 || s.sizes[1] > 40000) continue;
    rows->push_back({NameOf(name, s.sizes), op, kTwo,
                     [s](at::ScalarType dtype) {
                       return Arguments{Random(s.sizes, dtype),
                                        Random(s.sizes, dtype), s.dim,
                                        static_cast<int64_t>(dtype)};
                     },
                     Limit::kMemory, Bytes(s.sizes, 3), 0});
  }
}

const std::vector<Shape>& NormShapes() {
  static const auto* const shapes =
      new std::vector<Shape>{{{8192, 8192}, 1, 0.85},  {{65536, 1024}, 1, 0.85},
                             {{16384, 4096}, 1, 0.85}, {{4096, 16384}, 1, 0.85},
                             {{512, 131072}, 1, 0},    {{65536, 768}, 1, 0},
                             {{65536, 1001}, 1, 0},    {{1 << 20, 64}, 1, 0},
                             {{8, 4194304}, 1, 0},     {{512, 512}, 1, 0}};
  return *shapes;
}

void AddNorms(std::vector<Row>* rows) {
  for (const Shape& s : NormShapes()) {
    const std::vector<int64_t> n = {s.sizes[1]};
    rows->push_back({NameOf("layer_norm", s.sizes), "aten::native_layer_norm",
                     s.sizes[0] == 8192 ? kThree : kTwo,
                     [s, n](at::ScalarType dtype) {
                       return Arguments{Random(s.sizes, dtype), n,
                                        Random(n, dtype), Random(n, dtype),
                                        1e-5};
                     },
                     Limit::kMemory, Bytes(s.sizes, 2), s.goal});
    rows->push_back(
        {NameOf("rms_norm", s.sizes), "aten::_fused_rms_norm", kTwo,
         [s, n](at::ScalarType dtype) {
           return Arguments{Random(s.sizes, dtype), n, Random(n, dtype), 1e-5};
         },
         Limit::kMemory, Bytes(s.sizes, 2), s.goal});
    if (s.sizes[1] > 40000) continue;
    // The sums over rows need grad_out and input a second time.
    rows->push_back({NameOf("layer_norm_backward", s.sizes),
                     "aten::native_layer_norm_backward", kTwo,
                     [s, n](at::ScalarType dtype) {
                       return Arguments{Random(s.sizes, dtype),
                                        Random(s.sizes, dtype),
                                        n,
                                        Random({s.sizes[0], 1}, at::kFloat),
                                        at::ones({s.sizes[0], 1}, at::kCUDA),
                                        Random(n, dtype),
                                        Random(n, dtype),
                                        c10::List<bool>({true, true, true})};
                     },
                     Limit::kMemory, Bytes(s.sizes, 3), 0});
    rows->push_back({NameOf("rms_norm_backward", s.sizes),
                     "aten::_fused_rms_norm_backward", kTwo,
                     [s, n](at::ScalarType dtype) {
                       return Arguments{Random(s.sizes, dtype),
                                        Random(s.sizes, dtype),
                                        n,
                                        at::ones({s.sizes[0], 1}, at::kCUDA),
                                        Random(n, dtype),
                                        c10::List<bool>({true, true})};
                     },
                     Limit::kMemory, Bytes(s.sizes, 3), 0});
  }
}

void AddGroupNorms(std::vector<Row>* rows) {
  struct Groups {
    std::vector<int64_t> sizes;
    int64_t groups;
    double goal;
  };
  for (const Groups& g :
       {Groups{{64, 128, 8192}, 32, 0.7}, Groups{{64, 256, 1024}, 32, 0.7},
        Groups{{8, 512, 16384}, 32, 0}, Groups{{2, 64, 1 << 19}, 8, 0},
        Groups{{4096, 64, 49}, 32, 0}, Groups{{4, 32, 64}, 8, 0}}) {
    rows->push_back(
        {NameOf("group_norm", g.sizes) + " in " + std::to_string(g.groups),
         "aten::native_group_norm", kTwo,
         [g](at::ScalarType dtype) {
           return Arguments{Random(g.sizes, dtype),
                            Random({g.sizes[1]}, dtype),
                            Random({g.sizes[1]}, dtype),
                            g.sizes[0],
                            g.sizes[1],
                            g.sizes[2],
                            g.groups,
                            1e-5};
         },
         Limit::kMemory, Bytes(g.sizes, 2), g.goal});
  }
}

}  // namespace

std::vector<Row> RowRows() {
  std::vector<Row> rows;
  AddSoftmax(&rows, "softmax", "aten::_softmax");
  AddSoftmax(&rows, "log_softmax", "aten::_log_softmax");
  AddSoftmaxGradient(&rows, "softmax_backward", "aten::_softmax_backward_data");
  AddSoftmaxGradient(&rows, "log_softmax_backward",
                     "aten::_log_softmax_backward_data");
  AddNorms(&rows);
  AddGroupNorms(&rows);
  return rows;
}

}  // namespace benchmarks
}  // namespace flaggems
