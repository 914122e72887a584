#include "flaggems/aten/quiet_free.h"

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace flaggems {
namespace {

int freed = 0;
bool throws = false;

void Free(void* data) {
  ++freed;
  if (throws) throw std::runtime_error("the device has failed");
  delete[] static_cast<float*>(data);
}

at::Tensor Owning() {
  auto* const data = new float[4]();
  c10::Storage storage(c10::Storage::use_byte_size_t(), 4 * sizeof(float),
                       c10::DataPtr(data, data, &Free, c10::Device(c10::kCPU)),
                       /*allocator=*/nullptr, /*resizable=*/false);
  return at::empty({0}).set_(storage, 0, {4}, {1});
}

class QuietFreeTest : public testing::Test {
 protected:
  QuietFreeTest() {
    freed = 0;
    throws = false;
  }
};

TEST_F(QuietFreeTest, EachStorageIsFreedOnce) {
  at::Tensor x = Owning();
  std::vector<c10::IValue> values = {x,   x.slice(0, 1), Owning(),
                                     3.0, c10::IValue(), at::Tensor()};
  values.emplace_back(std::vector<at::Tensor>{Owning()});
  x.reset();
  FreeQuietly(std::move(values));
  EXPECT_EQ(freed, 3);
}

TEST_F(QuietFreeTest, WhatOthersHoldIsTheirs) {
  const at::Tensor x = Owning();
  FreeQuietly({x, x.slice(0, 1)});
  EXPECT_EQ(freed, 0);
  EXPECT_EQ(x[3].item<float>(), 0);
}

TEST_F(QuietFreeTest, AnAllocatorThatThrowsEndsNothing) {
  throws = true;
  std::vector<c10::IValue> values = {Owning(), Owning()};
  std::vector<float*> data;
  for (const c10::IValue& value : values) {
    data.push_back(value.toTensor().mutable_data_ptr<float>());
  }
  FreeQuietly(std::move(values));
  EXPECT_EQ(freed, 2);
  for (float* one : data) delete[] one;
}

}  // namespace
}  // namespace flaggems
