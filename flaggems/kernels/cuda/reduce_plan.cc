#include "flaggems/kernels/cuda/reduce_plan.h"

#include <algorithm>
#include <vector>

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// 16-byte loads of one thread before it adds up.
constexpr int64_t kLoads = 4;
// Fewer elements of a thread than this are not worth a split.
constexpr int64_t kMinLoadsOfPart = 8;
constexpr int kBlock = 256;
constexpr int kLogBlock = 8;
// Blocks that a multiprocessor holds at a time, about (launch bounds in
// reduce_engine.cuh).
constexpr int kRowBlocks = 4;
constexpr int kColumnBlocks = 3;
constexpr int64_t kMaxSplits = 1024;

int Log2Floor(int64_t n) {
  int log = 0;
  while (n > 1) {
    n /= 2;
    ++log;
  }
  return log;
}

int Log2Ceil(int64_t n) { return n <= 1 ? 0 : Log2Floor(n - 1) + 1; }

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Merges neighbours, which are sorted by stride.
std::vector<ReduceDim> Merge(std::vector<ReduceDim> dims) {
  std::stable_sort(dims.begin(), dims.end(),
                   [](const ReduceDim& a, const ReduceDim& b) {
                     return a.stride < b.stride;
                   });
  std::vector<ReduceDim> merged;
  for (const ReduceDim& d : dims) {
    if (!merged.empty()) {
      ReduceDim& last = merged.back();
      if (d.stride == last.stride * last.size &&
          d.out_stride == last.out_stride * last.size) {
        last.size *= d.size;
        continue;
      }
    }
    merged.push_back(d);
  }
  return merged;
}

bool Store(const std::vector<ReduceDim>& dims, size_t first, ReduceDims* out) {
  if (dims.size() - std::min(first, dims.size()) > kMaxReduceRank) return false;
  int64_t count = 1;
  for (size_t i = first; i < dims.size(); ++i) {
    out->size[out->rank] = dims[i].size;
    out->stride[out->rank] = dims[i].stride;
    out->out_stride[out->rank] = dims[i].out_stride;
    ++out->rank;
    count *= dims[i].size;
  }
  out->narrow = count < (int64_t{1} << 31);
  return true;
}

bool AllMultiples(const std::vector<ReduceDim>& dims, size_t first,
                  int64_t of) {
  for (size_t i = first; i < dims.size(); ++i) {
    if (dims[i].stride % of != 0) return false;
  }
  return true;
}

void CutRows(int64_t width, const ReduceDevice& device, ReducePlan* plan) {
  // Threads of an output: along the row as many as kLoads loads each leave
  // work for, the rest along the other reduced dimensions. Two warps have to
  // wait for each other and one does not, with twice the loads.
  const int64_t loads = CeilDivide(plan->inner, width);
  plan->log_x = std::min(Log2Floor(CeilDivide(loads, kLoads)), kLogBlock);
  // Where outputs alone fill the machine, joining threads costs more than it
  // gives: twice the loads of each, or, of one element each, no more than a
  // warp.
  const int64_t full = int64_t{device.multiprocessors} * 2048;
  const int fewer =
      width == 1 ? 5 : std::max(4, Log2Floor(CeilDivide(loads, 2 * kLoads)));
  if (fewer < plan->log_x && (plan->outputs << fewer) >= full) {
    plan->log_x = fewer;
  }
  if (plan->outer_count > 1) {
    plan->log_x = std::min(Log2Ceil(loads), kLogBlock);
    plan->log_y = std::min(Log2Floor(CeilDivide(plan->outer_count, kLoads)),
                           kLogBlock - plan->log_x);
  }
  if (plan->log_x + plan->log_y == 6 && plan->outputs > 1024) {
    --(plan->log_y > 0 ? plan->log_y : plan->log_x);
  }
  const int log = plan->log_x + plan->log_y;
  plan->threads = log > 5 ? 1 << log : kBlock;
  plan->blocks = CeilDivide(plan->outputs, plan->threads >> log);
  // What is on the machine at a time; more would be a second wave.
  const int64_t wanted = int64_t{device.multiprocessors} * kRowBlocks;
  if (log < kLogBlock || plan->blocks * 2 > wanted) return;
  // Few outputs, much to add.
  plan->split_inner = plan->outer_count == 1;
  const int64_t step =
      plan->split_inner ? (width << plan->log_x) : int64_t{1} << plan->log_y;
  const int64_t length = plan->split_inner ? plan->inner : plan->outer_count;
  const int64_t steps = CeilDivide(length, step);
  // A step of the outer dimensions is worth inner / (width << log_x) loads.
  const int64_t min_steps =
      plan->split_inner
          ? kMinLoadsOfPart
          : std::max<int64_t>(
                1, kMinLoadsOfPart / CeilDivide(loads, 1 << plan->log_x));
  const int64_t parts = std::min(
      {kMaxSplits, wanted / plan->blocks, CeilDivide(steps, min_steps)});
  if (parts <= 1) return;
  plan->split_length = CeilDivide(steps, parts) * step;
  plan->splits = static_cast<int>(CeilDivide(length, plan->split_length));
}

void CutColumns(int64_t width, const ReduceDevice& device, ReducePlan* plan) {
  const int64_t across = CeilDivide(plan->inner, width);
  int log_y = std::min(Log2Ceil(CeilDivide(plan->outer_count, 8)), 3);
  plan->log_x = std::min(Log2Ceil(across), kLogBlock - log_y);
  plan->log_y = std::min(kLogBlock - plan->log_x,
                         std::max(log_y, Log2Ceil(plan->outer_count)));
  plan->threads = 1 << (plan->log_x + plan->log_y);
  plan->blocks = plan->outputs / plan->inner *
                 CeilDivide(across, int64_t{1} << plan->log_x);
  const int64_t wanted = int64_t{device.multiprocessors} * kColumnBlocks;
  if (plan->blocks * 2 > wanted) return;
  const int64_t step = int64_t{1} << plan->log_y;
  const int64_t steps = CeilDivide(plan->outer_count, step);
  const int64_t parts = std::min(
      {kMaxSplits, wanted / plan->blocks, CeilDivide(steps, kMinLoadsOfPart)});
  if (parts <= 1) return;
  plan->split_length = CeilDivide(steps, parts) * step;
  plan->splits =
      static_cast<int>(CeilDivide(plan->outer_count, plan->split_length));
}

}  // namespace

bool PlanReduce(const ReduceDim* dims, int rank, const void* input,
                int element_bytes, bool wide, const ReduceDevice& device,
                ReducePlan* plan) {
  *plan = ReducePlan();
  std::vector<ReduceDim> kept, reduced;
  plan->outputs = 1;
  plan->reduced = 1;
  for (int i = 0; i < rank; ++i) {
    (dims[i].reduced ? plan->reduced : plan->outputs) *= dims[i].size;
    if (dims[i].size == 1) continue;
    (dims[i].reduced ? reduced : kept).push_back(dims[i]);
  }
  kept = Merge(std::move(kept));
  reduced = Merge(std::move(reduced));
  plan->dependent_launch = device.capability >= 90;
  const int64_t vector = 16 / element_bytes;
  // A stride of 0 is no neighbour in memory.
  const auto stride_of = [](const std::vector<ReduceDim>& d) {
    return d.empty()          ? INT64_MAX
           : d[0].stride == 0 ? INT64_MAX - 1
                              : d[0].stride;
  };
  plan->rows = kept.empty() || stride_of(reduced) <= stride_of(kept);
  const std::vector<ReduceDim>& inner_list = plan->rows ? reduced : kept;
  if (!inner_list.empty()) {
    plan->inner = inner_list[0].size;
    plan->inner_stride = inner_list[0].stride;
    plan->inner_out_stride = inner_list[0].out_stride;
  }
  if (!Store(kept, plan->rows ? 0 : 1, &plan->kept) ||
      !Store(reduced, plan->rows ? 1 : 0, &plan->outer)) {
    return false;
  }
  for (int i = 0; i < plan->outer.rank; ++i) {
    plan->outer_count *= plan->outer.size[i];
  }
  if (plan->rows) {
    // Rows may start anywhere: the kernel reads the first elements one by one.
    plan->vector = wide && plan->inner_stride == 1 && plan->inner >= vector;
    plan->lean = plan->vector && plan->outer_count == 1 &&
                 plan->kept.rank <= 1 && plan->inner % vector == 0 &&
                 plan->inner / vector < (int64_t{1} << 31) &&
                 reinterpret_cast<uintptr_t>(input) % 16 == 0 &&
                 AllMultiples(kept, 0, vector);
    CutRows(plan->vector ? vector : 1, device, plan);
  } else {
    plan->vector =
        wide && plan->inner_stride == 1 && plan->inner % vector == 0 &&
        reinterpret_cast<uintptr_t>(input) % 16 == 0 &&
        AllMultiples(kept, 1, vector) && AllMultiples(reduced, 0, vector);
    CutColumns(plan->vector ? vector : 1, device, plan);
  }
  return true;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
